"""Running a script on the virtual device, as Python does: under the name `__main__`, from its first line to its end."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType

import torch

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.nearest import did_you_mean
from streamsched.dsl.record import run_rules
from streamsched.dsl.record.run import Recorded, advised, ended
from streamsched.dsl.record.session import Recording
from streamsched.dsl.trace import model_rules
from streamsched.dsl.trace.request import TraceRequest
from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.isolation import user_code
from streamsched.dsl.trace.tracing.loader import Session, load_fakes, raised
from streamsched.dsl.trace.tracing.world import ranks

_MAIN = "__main__"


def record_script(
    request: TraceRequest, arguments: tuple[str, ...], target: str, verbose: bool = False, fake: bool = False
) -> Recorded:
    """Run the script `request.file` with its `arguments`. Its faults become diagnostics, beside what it did before."""
    path = Path(request.base, request.file)
    if not path.is_file():
        siblings = [each.name for each in path.parent.glob("*.py")]
        message = f"{path} is {'a folder' if path.is_dir() else 'not there'}"
        lacking = model_rules.model_not_found(request.model_span, message, did_you_mean(path.name, siblings))
        return Recorded(None, (lacking,))
    sources = Sources(request.base)
    session = Session(request, sources, Internals(str(Path(torch.__file__).parent)), verbose)
    recording = Recording(target, request.base, sources, "meta" if fake else "cpu")
    with (
        user_code(os.path.abspath(request.base), sources, imports_npu=True),
        ranks(request.world),
        recording.installed(),
    ):
        fault = load_fakes(session) or _run(session, recording, path, arguments)
    return Recorded(recording, () if fault is None else (advised(fault),))


def _run(session: Session, recording: Recording, path: Path, arguments: tuple[str, ...]) -> Diagnostic | None:
    """Run the script, and tell what it died of."""
    span, name = session.request.model_span, session.request.file
    try:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        with _main(path, arguments) as module:
            recording.run(_body(code, module), path.stem, span)
    except SystemExit as error:
        if error.code not in (None, 0):
            related, notes = session.related(error), session.notes(error)
            return ended(session, recording) or run_rules.script_exits(span, name, error.code, related, notes)
    except (Exception, KeyboardInterrupt) as error:
        return ended(session, recording, error) or raised(session, error, span, f"{name} does not run to its end")
    return ended(session, recording)


def _body(code: CodeType, module: ModuleType) -> Callable[[], None]:
    return lambda: exec(code, vars(module))


@contextlib.contextmanager
def _main(path: Path, arguments: tuple[str, ...]) -> Iterator[ModuleType]:
    """The module that a script is, with its command line in place while the context lasts."""
    module = ModuleType(_MAIN)
    module.__file__ = os.path.abspath(path)
    before, argv = sys.modules.get(_MAIN), sys.argv
    sys.modules[_MAIN], sys.argv = module, [os.fspath(path), *arguments]
    try:
        yield module
    finally:
        sys.argv = argv
        if before is not None:
            sys.modules[_MAIN] = before
