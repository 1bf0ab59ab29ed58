"""Fixing a schedule: fixes are applied and the result is checked again, and kept only where it is no worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.files import ScheduleFile
from streamsched.dsl.lint.linted import Linted
from streamsched.dsl.lint.mend import Step, steps
from streamsched.dsl.lint.told import Told

MOST_STEPS = 500
"""How often a text is fixed and checked again, before fixes that undo each other are suspected."""


def fixed(
    file: ScheduleFile,
    check: Callable[[ScheduleFile], Linted],
    unsafe: bool,
    wanted: Callable[[Told], Iterable[Diagnostic]] = lambda told: told.left,
) -> Linted:
    """Check a schedule and apply the fixes of what is `wanted` of the findings, safe ones only unless `unsafe`, until
    nothing changes.

    Nothing is written. The result is that of the last text, which reads at least as well as the first, and has no
    error that was not there before, but for those that could not be found as long as others were there.
    """
    linted = check(file)
    checked = {file.text: linted}
    past = {file.text}
    fixes = 0
    for _ in range(MOST_STEPS):
        for step in steps(linted.file.text, file.path, wanted(linted.told), unsafe):
            if step.text in past:
                continue
            if step.text not in checked:
                checked[step.text] = check(replace(linted.file, text=step.text))
            if _no_worse(linted.told, checked[step.text].told, step):
                linted, fixes = checked[step.text], fixes + step.fixes
                past.add(step.text)
                break
        else:
            break
    return replace(linted, fixes=fixes)


def _no_worse(before: Told, after: Told, step: Step) -> bool:
    """Whether a step has brought no error, or, a single fix, only such as an error that is gone may have hidden.

    Errors are counted by their rules, since a fix may change the names that messages have.
    """
    had, has = _errors(before), _errors(after)
    return has <= had or (step.fixes == 1 and any(has[found.code] < had[found.code] for found in before.stops))


def _errors(told: Told) -> Counter[str]:
    return Counter(found.code for found in told.found if found.severity is Severity.ERROR)
