"""What mends a model that cannot be traced: a leaf in place of the module that is in the way."""

from __future__ import annotations

import re

import torch

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Related
from streamsched.dsl.saying import said
from streamsched.dsl.trace import leaf_rules
from streamsched.dsl.trace.tracing import failures
from streamsched.dsl.trace.tracing.leaves.modules import glob_for
from streamsched.dsl.trace.tracing.leaves.ops import UnsuitableLeafError
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.npu_stub import NoFakeError
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder

_TORCH_OWN = ("aten::", "prims::")
_LIKE_FIRST = "torch:empty_like"
_FUNCTION_WORDS = (
    "`torch:empty_like` says that it returns a tensor like its first argument; for other results name a function "
    "that takes what its forward() takes, and returns what that would, without values"
)
LEAF_ADVICE = "put it into a module of its own, and trace that as one op: a `leaf`"
_META_KERNELS = "_meta_registrations.py"
_DTYPE_WORDS = re.compile(r"dtype|\b(?:[BF]+\d+|float\d*|bfloat16|int\d*) type\b", re.IGNORECASE)
_META_WORDS = re.compile(r"\bmeta device\b|\bdevice:? '?meta\b")
_CHECK_DEPTH = 4
"""How far above an exception the kernel is whose `torch._check()` raised it, at most."""
_NO_FAKE = re.compile(
    r"(?:no fake impl registered for <CustomOpDef\(|operator |^|\s)(\w+::\w+)[^\n]*?(?:fake impl|Meta kernel|\)>)"
)


def leaf_instead(session: Session, recorder: Recorder, chain: list[BaseException]) -> Fix | None:
    """The fix that makes a leaf of the innermost module that an exception left; None for the model itself.

    `chain` is the exception with those that caused it. What the module returns is taken to be like its first argument.
    """
    path = _failed(recorder, chain)
    return None if path is None else _leaf_at(session, recorder, path)


def leaf_of(session: Session, recorder: Recorder, module: torch.nn.Module) -> Fix | None:
    """The fix that makes a leaf of a module; None for the model itself."""
    path = next((path for path, other in recorder.leaves.root.named_modules() if other is module), "")
    return _leaf_at(session, recorder, path) if path else None


def _leaf_at(session: Session, recorder: Recorder, path: str) -> Fix:
    statement = f'leaf "{glob_for(recorder.leaves.root, path)}" from "{_LIKE_FIRST}"'
    message = f"trace `{path}` as one op: `{statement}`{_unless_it_waits(session)}"
    return Fix(message, (Edit(session.request.model_span.end, f"\n{statement}"),))


def _unless_it_waits(session: Session) -> str:
    """What is to be added to the advice to make a leaf, where generated code is captured in a graph; else nothing."""
    if not session.request.captured:
        return ""
    return "; if it makes the host wait, npugraph_ex cannot capture it (CAP103), and only an eager target takes it"


def _failed(recorder: Recorder, chain: list[BaseException]) -> str | None:
    """The path from the root of the innermost running module that an exception left."""
    paths = {id(vars(module)): path for path, module in recorder.leaves.root.named_modules()}
    frames = [frame for error in reversed(chain) for frame in reversed(failures.frames(error))]
    for module in (frame.f_locals.get("self") for frame in frames):
        if isinstance(module, torch.nn.Module) and id(vars(module)) in paths:
            return paths[id(vars(module))] or None
    return None


def blind_leaf(
    recorder: Recorder,
    chain: list[BaseException],
    related: tuple[Related, ...],
    notes: tuple[str, ...],
) -> Diagnostic | None:
    """The finding that a leaf needs data to run, and nothing says what it returns; None if none of them failed."""
    path = _failed(recorder, chain)
    leaf = next((leaf for leaf in recorder.leaves.leaves if leaf.path == path and leaf.shape is None), None)
    if leaf is None:
        return None
    statement = f'leaf "{leaf.request.glob}" from "{_LIKE_FIRST}"'
    fix = Fix(f"write `{statement}`", (Edit(leaf.request.span, statement),))
    message = f"the leaf `{path}` cannot run without data, so that what it returns must be told"
    return leaf_rules.missing_fake(leaf.request.span, message, related, notes, _FUNCTION_WORDS, fix)


def wrong_shape(recorder: Recorder, chain: list[BaseException]) -> str | None:
    """Advice for a module that raises, where what a leaf in it returns was told; None if none was."""
    path = _failed(recorder, chain) or ""
    for leaf in recorder.leaves.leaves:
        if leaf.request.shape is not None and leaf.path.rpartition(".")[0] == path:
            told = ":".join(leaf.request.shape)
            return (
                f"does `{told}` return what the leaf `{leaf.path}` does? If not, name a function that takes what its "
                "forward() takes, and returns what that would, without values"
            )
    return None


def picky_kernel(session: Session, recorder: Recorder, chain: list[BaseException]) -> str | None:
    """Advice for an op that does not take a dtype on the meta device, as it may elsewhere; None if none failed so."""
    for error in chain:
        inside = [frame.f_code.co_filename for frame in failures.frames(error)[-_CHECK_DEPTH:]]
        if any(file.endswith(_META_KERNELS) for file in inside) and _DTYPE_WORDS.search(said(error)):
            leaf = leaf_instead(session, recorder, chain)
            told = LEAF_ADVICE if leaf is None else leaf.message
            return f"give the op a dtype that it takes; or, where it takes this one on the device, {told}"
    return None


def meta_refused(session: Session, recorder: Recorder, chain: list[BaseException]) -> str | None:
    """Advice for code that asks for the device and does not run on the meta device; None if none failed so."""
    if not any(_META_WORDS.search(said(error)) for error in chain):
        return None
    leaf = leaf_instead(session, recorder, chain)
    told = LEAF_ADVICE if leaf is None else leaf.message
    return f"it does not run on the meta device, where models are traced: {told}"


def missing_fake(
    session: Session,
    recorder: Recorder,
    chain: list[BaseException],
    related: tuple[Related, ...],
    notes: tuple[str, ...],
) -> Diagnostic | None:
    """The finding that a custom op has no fake implementation; None if that is not what is wrong."""
    absent = next((error for error in chain if isinstance(error, NoFakeError)), None)
    if absent is not None:
        advice = f"register one for the op `npu::{absent.name}` there"
        return leaf_rules.missing_fake(session.request.model_span, str(absent), related, notes, advice, None)
    found = next((match for error in chain if (match := _NO_FAKE.search(said(error))) is not None), None)
    if found is None:
        return None
    name = found[1]
    fix = leaf_instead(session, recorder, chain)
    advice = _leaf_words(fix) if name.startswith(_TORCH_OWN) else _fake_words(name, fix)
    message = f"the op `{name}` has no fake implementation, which says what it returns for tensors without data"
    return leaf_rules.missing_fake(session.request.model_span, message, related, notes, advice, fix)


def _fake_words(name: str, leaf: Fix | None) -> str:
    alternative = f"; or {leaf.message}" if leaf is not None else ""
    return f'register one with `@torch.library.register_fake("{name}")`{alternative}'


def _leaf_words(leaf: Fix | None) -> str:
    """What helps against an op of torch's own, which the user cannot change."""
    return LEAF_ADVICE if leaf is None else f"it is torch's own and may need the data: {leaf.message}"


def no_data(session: Session, recorder: Recorder, chain: list[BaseException]) -> str | None:
    """Advice for code that takes a tensor out of torch; None if none failed so."""
    if not any(".numpy() is not supported" in said(error) for error in chain):
        return None
    leaf = leaf_instead(session, recorder, chain)
    return (
        "a tensor has no data while it is traced, and what is computed outside of torch is in no trace: compute it "
        f"with torch, or {LEAF_ADVICE if leaf is None else leaf.message}"
    )


def unsuitable(error: UnsuitableLeafError, related: tuple[Related, ...]) -> Diagnostic:
    """The finding that a module cannot be a leaf."""
    message = f"the leaf `{error.leaf.path}` cannot be traced: {error}".splitlines()[0]
    return leaf_rules.unsuitable_leaf(error.leaf.request.span, message, related, error.advice)
