"""MEM: does memory live as long as every stream that uses it?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamsched.dsl.check.describe import listed, name, on_stream, placement, related, stream
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.lifetimes import Reuse
from streamsched.dsl.check.regions import regions
from streamsched.dsl.check.typed import record_stream
from streamsched.dsl.diagnostic import Diagnostic, Severity, Span
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT, Program, StepKind
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import NONE, Dim


@rule("MEM101", "missing-record-stream", Severity.ERROR)
def missing_record_stream(facts: Facts) -> Iterator[Diagnostic]:
    """A block is freed while another stream may still use it, and the allocator does not know.

    The caching allocator gives a freed block to the next allocation on its home stream at once: it assumes that all
    uses were on that stream. A use on another stream must be over by then: either the home stream has waited for it
    before its next kernel or allocation, or `record_stream` told the allocator. The next kernel may be that of the
    next call: two calls in a row are looked at.

    What another stream reads is overwritten, and memory is corrupted without an error.

    Example:

        B = in3 + in4                 # allocated on the default stream
        with torch.npu.stream(side):
            B_ready.wait()
            mm = torch.mm(B, in4)
        del B
        c = torch.mm(in3, in4)        # may be written into B's memory

    Use instead, before the last name of the block dies:

        with torch.npu.stream(side):
            B_ready.wait()
            mm = torch.mm(B, in4)
            B.record_stream(side)

    References: torch.Tensor.record_stream.
    """
    program = facts.program
    for reuse in facts.reuses:
        for foreign, use in reuse.unfinished.items():
            if foreign not in reuse.recorded:
                yield _unprotected(program, reuse, foreign, use)


def _unprotected(program: Program, reuse: Reuse, foreign: int, use: int) -> Diagnostic:
    storage = program.storages[reuse.storage]
    home, user = stream(program, storage.home), on_stream(program, use)
    parts = [(use, f"{user} uses `{storage.name}`"), (reuse.free, f"`{storage.name}` is freed")]
    if reuse.next != NONE:
        parts.append((reuse.next, "its memory may be written from here on"))
    successor = "the caller's next kernel" if reuse.next == NONE else name(program, reuse.next)
    notes = [
        f"{successor} is the next on {home}, where `{storage.name}` was allocated: it may get its memory, "
        f"and does not wait for {user}"
    ]
    if via.LAST_USE in via.words(program.steps[reuse.free]):
        notes.append(f"a graph frees `{storage.name}` behind its last use, though a variable still holds it")
    return missing_record_stream.diagnostic(
        placement(program, use),
        f"`{storage.name}` is freed while {user} may still use it",
        related=related(program, *parts),
        notes=tuple(notes),
        help=f"tell the allocator with {record_stream(program, reuse.storage, foreign)} before the "
        f"last name dies, or let {home} wait for {name(program, use)} first",
    )


@rule("MEM102", "needless-record-stream", Severity.INFO)
def needless_record_stream(facts: Facts) -> Iterator[Diagnostic]:
    """A hand-written `record_stream` that protects nothing.

    The home stream waits for the use anyway before it can reuse the block, or the block lives until exit, by when
    every stream has been joined. `record_stream` then only delays the reuse of the block: the allocator records an
    event when it is freed and asks for it at later allocations. What `memory record_stream` adds on request is not
    reported.

    Example:

        with torch.npu.stream(side):
            y = torch.mm(x, w)
            x.record_stream(side)     # the caller holds `x` until `side` is joined

    Use instead nothing:

        with torch.npu.stream(side):
            y = torch.mm(x, w)
    """
    program = facts.program
    needed = {(reuse.storage, foreign) for reuse in facts.reuses for foreign in reuse.unfinished}
    needed |= {(number, DEFAULT) for number, storage in enumerate(program.storages) if storage.output}
    for index in facts.of(StepKind.RECORD_STREAM):
        step = program.steps[index]
        if not step.via:
            continue
        own = step.stream == program.storages[step.storage].home
        if own or (step.storage, step.stream) not in needed:
            yield needless_record_stream.diagnostic(
                placement(program, index),
                f"`record_stream` of `{program.storages[step.storage].name}` for {stream(program, step.stream)} "
                "protects nothing",
                related=related(program, (index, "the block is safe without it")),
                notes=("it was allocated on that stream",) if own else (),
                help="take it out",
            )


@rule("MEM103", "unprotected-output", Severity.ERROR)
def unprotected_output(facts: Facts) -> Iterator[Diagnostic]:
    """An output lies in memory of a side stream, and the allocator does not know that the caller uses it.

    The caller reads it on the default stream. When the caller drops it, the block goes back to the side stream,
    which may overwrite it while the default stream still reads.

    Example:

        with torch.npu.stream(side):
            y = torch.mm(x, w)
        ...
        return y

    Use instead, before the return, when the side stream has been joined:

        y.record_stream(torch.npu.current_stream())
        return y

    References: torch.Tensor.record_stream.
    """
    program = facts.program
    if program.whole_graph:
        return
    recorded = _recorded(facts)
    for number, maker in _side_outputs(facts):
        if number not in recorded:
            storage = program.storages[number]
            yield unprotected_output.diagnostic(
                placement(program, maker),
                f"output `{storage.name}` was allocated on {stream(program, storage.home)} and is handed to the caller "
                "without `record_stream`",
                related=related(program, (maker, f"allocated on {stream(program, storage.home)}")),
                notes=(f"when the caller drops it, {stream(program, storage.home)} may reuse it too early",),
                help=f"call {record_stream(program, number, DEFAULT)} before the return, or produce it on `default`",
            )


@rule("MEM104", "output-from-side-stream", Severity.INFO)
def output_from_side_stream(facts: Facts) -> Iterator[Diagnostic]:
    """An output is allocated on a side stream: it can be had cheaper.

    In eager mode it needs a `record_stream` for the default stream before the return (which a generated program has),
    so that its block is reused late. In a whole-model npugraph_ex graph it lies in the graph's own memory and leaves
    it as it is.

    Example:

        last on side                  # `last` makes what forward() returns

    Use instead, where the time of that op does not matter, the default stream:

        last on default
    """
    program = facts.program
    recorded = _recorded(facts)
    for number, maker in _side_outputs(facts):
        if program.whole_graph or number in recorded:
            storage = program.storages[number]
            yield output_from_side_stream.diagnostic(
                placement(program, maker),
                f"output `{storage.name}` is allocated on {stream(program, storage.home)}",
                related=related(program, (maker, f"allocated on {stream(program, storage.home)}")),
                notes=("its memory belongs to the graph and is safe",)
                if program.whole_graph
                else ("`record_stream` keeps it from reuse until the caller's stream is done with it",),
                help="produce it on `default` if that costs no overlap",
            )


@rule("MEM105", "record-stream-in-capture", Severity.INFO)
def record_stream_in_capture(facts: Facts) -> Iterator[Diagnostic]:
    """`record_stream` in a captured region keeps blocks from reuse until the capture ends, so that the pool grows.

    During a capture no event can tell when a stream is done with a block. What `record_stream` protects stays
    reserved for the graph. That is right, and it costs memory: all these blocks count towards the graph's peak.

    Example:

        B -> mm               # `mm` on a side stream reads B; the next op on `default` may reuse B

    Use instead, if memory is short, an edge that lets the home stream wait before it goes on, or that for all:

        memory join
    """
    program = facts.program
    for region in regions(facts):
        kept = [index for index in facts.of(StepKind.RECORD_STREAM) if region.begin < index < region.end]
        if kept and region.captured:
            storages = [program.storages[number] for number in dict.fromkeys(program.steps[i].storage for i in kept)]
            total = _total(storage.nbytes for storage in storages)
            yield record_stream_in_capture.diagnostic(
                _first_use(facts, kept[0]),
                f"`record_stream` keeps {listed([f'`{s.name}`' for s in storages])} from reuse until the capture ends",
                related=related(program, *((index, "kept from here on") for index in kept)),
                notes=(f"the graph's memory grows by up to {total}",) if total else (),
                help="`memory join` waits instead, where memory is short",
            )


def _side_outputs(facts: Facts) -> Iterator[tuple[int, int]]:
    """The outputs whose home is a side stream, each with the step that allocates it."""
    program = facts.program
    wanted = {i for i, storage in enumerate(program.storages) if storage.output and storage.home != DEFAULT}
    if not wanted:
        return
    for index in facts.of(StepKind.LAUNCH, StepKind.ALLOC):
        for number in program.steps[index].writes:
            if number in wanted:
                wanted.discard(number)
                yield number, index


def _recorded(facts: Facts) -> set[int]:
    """The storages that have a `record_stream` for `default`."""
    steps = [facts.program.steps[index] for index in facts.of(StepKind.RECORD_STREAM)]
    return {step.storage for step in steps if step.stream == DEFAULT}


def _first_use(facts: Facts, index: int) -> Span:
    """Where the last user of the storage before its `record_stream` was placed."""
    program, step = facts.program, facts.program.steps[index]
    users = (i for i in range(index, NONE, -1) if program.steps[i].runs and program.steps[i].stream == step.stream)
    return next((placement(program, i) for i in users), program.span)


def _total(sizes: Iterable[Dim]) -> str:
    """The sum of sizes in bytes, as words; empty for nothing."""
    given = list(sizes)
    known = sum(size for size in given if isinstance(size, int))
    open_ = [size for size in given if isinstance(size, str)]
    if open_:
        return f"{' + '.join((*open_, *([str(known)] if known else [])))} bytes"
    return _size(known) if known else ""


def _size(nbytes: int) -> str:
    """Bytes in the unit that keeps the number short."""
    size = float(nbytes)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if size >= 10 or unit == "bytes" else f"{size:.1f} {unit}"


RULES = (
    missing_record_stream,
    needless_record_stream,
    unprotected_output,
    output_from_side_stream,
    record_stream_in_capture,
)
