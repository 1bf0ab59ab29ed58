"""The pages of the rules: their docstrings, with what is really printed for the failing case of each."""

from __future__ import annotations

import re
from typing import Any

from rule_cases import FOLDER, Case, cases, findings, reader

from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.report import text
from streamsched.dsl.report.report import Report
from streamsched.dsl.rule import Rule
from streamsched.dsl.rules import ALL

INDEX = "README.md"
FAMILIES = {
    "SYN": "the text of a schedule",
    "SEL": "groups and selectors against the trace",
    "ORD": "order between streams",
    "MEM": "lifetimes of memory that streams share",
    "CAP": "graph captures",
    "RES": "what the device has: cores and streams",
    "PRF": "streams that gain nothing",
    "TGT": "what npugraph_ex and NPUs reject, drop or reorder",
    "TRC": "tracing the model",
    "AUD": "running hand-written code",
    "CFG": "settings in pyproject.toml",
    "SUP": "comments that suppress findings",
}
_NOTICE = "<!-- Made from the rules' docstrings and tests/rules; UPDATE_PAGES=1 pytest tests/rules makes it anew. -->\n"
_REST = re.compile(r"(?=  # | -- )")
"""Before what is no option: a script's arguments, or the shell's comment."""
_NAMED = re.compile(r"models/\S+\.sched")


def pages() -> dict[str, str]:
    """The text of each page by the name of its file, the index among them. The current folder must be `FOLDER`."""
    by_rule: dict[str, dict[str, Case]] = {}
    for case in cases():
        by_rule.setdefault(case.code, {})[case.kind] = case
    found = {f"{code}.md": _page(rule, by_rule.get(code, {})) for code, rule in ALL.items()}
    return found | {INDEX: _index({code for code, kinds in by_rule.items() if "fix" in kinds})}


def _page(rule: Rule[..., Any], kinds: dict[str, Case]) -> str:
    parts = [f"{_NOTICE}# {rule.code} {rule.name}", f"*{_severity(rule)}*", _markdown(rule.page.rstrip())]
    if "fail" in kinds:
        parts += _output(kinds["fail"])
    if "fix" in kinds:
        parts += ["After the fix:", _block(kinds["fix"].text)]
    return "\n\n".join(parts) + "\n"


def _markdown(page: str) -> str:
    """A docstring with an empty line before each block of code, as Markdown wants it."""
    return re.sub(r":\n(?= {4})", ":\n\n", page)


def _output(case: Case) -> list[str]:
    """A failing case and what is printed for it; nothing of a program that no command of a user leads to."""
    if not case.command:
        return []
    told = tuple(diagnostic for diagnostic in findings(case) if diagnostic.code == case.code)
    printed = text.render(Report(told, reader(case))).rstrip("\n")
    parts = ["## What is printed", f"`{case.shown}`:", _block(case.text)]
    for name in _NAMED.findall(case.command):
        parts += [f"`{name}`:", _block((FOLDER / name).read_text(encoding="utf-8"))]
    remarks = any(diagnostic.severity is Severity.INFO for diagnostic in told)
    return [*parts, f"`{_command(case, remarks)}`:", _block(printed)]


def _command(case: Case, remarks: bool) -> str:
    """What prints the findings of the case's rule alone. Those about settings are told whatever is selected."""
    if case.path.suffix == ".toml":
        return case.command
    command, *rest = _REST.split(case.command, maxsplit=1)
    return "".join([command, f" --select {case.code}", " --verbose" if remarks else "", *rest])


def _block(shown: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in shown.rstrip("\n").split("\n"))


def _severity(rule: Rule[..., Any]) -> str:
    return "remark" if rule.severity is Severity.INFO else rule.severity.value


def _index(fixable: set[str]) -> str:
    parts = [
        f"{_NOTICE}# Rules",
        "`streamsched explain CODE` shows a rule's page. What `--fix` or `--unsafe-fixes` can mend is marked by `F`.",
    ]
    assert {code[:3] for code in ALL} == set(FAMILIES), "each family has a title"
    for family, title in FAMILIES.items():
        rules = [rule for code, rule in ALL.items() if code.startswith(family)]
        rows = "\n".join(_row(rule, rule.code in fixable) for rule in rules)
        parts.append(f"## {family}: {title}\n\n| code | name | | | |\n|---|---|---|---|---|\n{rows}")
    return "\n\n".join(parts) + "\n"


def _row(rule: Rule[..., Any], fixable: bool) -> str:
    mark = "F" if fixable else ""
    return f"| [{rule.code}]({rule.code}.md) | {rule.name} | {_severity(rule)} | {mark} | {rule.summary} |"
