"""What `torch.cuda`, `torch.npu` and tensors answer on the virtual device, and that it goes away again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamsched.dsl.audit import Audited
from streamsched.dsl.program.steps import Step, StepKind

torch = pytest.importorskip("torch")

X = "x: f32[8, 8]"

HEAD = """
import torch
import torch.nn.functional as F
from torch.cuda import Event, Stream, current_stream, is_current_stream_capturing, stream

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream(priority=-1)
        self.low, self.high = torch.cuda.Stream.priority_range() if False else (0, -1)
        self.event, self.done = torch.cuda.Event(), torch.cuda.Event(blocking=True)

    def forward(self, x):
        main = torch.cuda.current_stream()
        side = self.side
        {lines}
        return x
"""


def forward(*lines: str) -> str:
    return HEAD.replace("{lines}", "\n        ".join(lines))


def launched(program: object) -> list[tuple[str, str]]:
    return [
        (program.streams[step.stream].name, step.name)  # type: ignore[attr-defined]
        for step in program.steps  # type: ignore[attr-defined]
        if step.kind is StepKind.LAUNCH and step.name != "the caller"
    ]


def steps(run: Callable[..., Audited], *lines: str, **options: object) -> tuple[object, list[Step]]:
    audited = run(forward(*lines), X, calls=1, **options)
    assert audited.program is not None, audited.diagnostics
    return audited.program, list(audited.program.steps)


ASKED = [
    # streams
    "assert torch.cuda.Stream(device='cuda', priority=-1).priority == -1",
    "assert side.priority == -1 and main.priority == 0",
    "assert isinstance(main, torch.cuda.Stream) and isinstance(Stream(), torch.cuda.Stream)",
    "assert main == torch.cuda.default_stream() and main != side and hash(main) == hash(current_stream())",
    "assert torch.cuda.current_stream(x.device) == main and torch.cuda.current_stream(0) == main",
    "assert side.device == torch.device('cuda', 0) and isinstance(side.cuda_stream, int)",
    "assert side.query() is True and main.query()",
    "assert torch.cuda.ExternalStream(side.cuda_stream) == side",
    "torch.cuda.set_stream(side); assert torch.cuda.current_stream() == side; torch.cuda.set_stream(main)",
    "torch.cuda.set_stream(side); x + 1; torch.cuda.set_stream(main)",
    "with side: assert current_stream() == side",
    "with stream(side), stream(None): assert current_stream() == side",
    "with torch.cuda.StreamContext(side): assert torch.cuda.current_stream() == side",
    "with torch.Stream('cuda') as generic: assert torch.accelerator.current_stream() == generic",
    "assert torch.Stream(device='cuda', priority=-1).priority == -1",
    # events
    "assert self.event.query() and self.done.query()",
    "e = Event(enable_timing=True); e.record(); assert e.elapsed_time(e) > 0; e.synchronize()",
    "e = side.record_event(); main.wait_event(e); assert isinstance(e, torch.cuda.Event)",
    "self.event.record(side); self.event.wait(main)",
    "e = torch.Event('cuda'); e.record(); e.wait(); e.synchronize()",
    "e = torch.Event(device='cuda', enable_timing=True); e.record(main); assert e.query()",
    # synchronize
    "torch.cuda.synchronize(); torch.cuda.synchronize(0); torch.cuda.synchronize(x.device)",
    "side.synchronize(); main.synchronize(); self.event.record(); self.event.synchronize()",
    "torch.accelerator.synchronize()",
    # questions
    "assert torch.cuda.is_available() and torch.cuda.is_initialized() and torch.cuda.device_count() == 1",
    "assert not torch.npu.is_available() and torch.npu.device_count() == 0",
    "assert torch.cuda.get_device_capability() >= (9, 0) and torch.cuda.get_device_capability(x.device)",
    "p = torch.cuda.get_device_properties(0); assert p.multi_processor_count and p.total_memory and p.major",
    "assert torch.cuda.get_device_name(0) and torch.cuda.current_device() == 0",
    "assert torch.cuda.mem_get_info()[0] > 0 and torch.cuda.memory_allocated() == 0",
    "torch.cuda.set_device(0); torch.cuda.empty_cache(); torch.cuda.manual_seed(1); torch.manual_seed(1)",
    "with torch.cuda.device(0), torch.cuda.device(x.device): pass",
    "torch.cuda.nvtx.range_push('a'); torch.cuda.nvtx.range_pop(); torch.cuda.nvtx.mark('b')",
    "with torch.cuda.nvtx.range('a'): pass",
    "assert not torch.cuda.is_current_stream_capturing() and not is_current_stream_capturing()",
    "assert torch.accelerator.is_available() and torch.accelerator.current_accelerator().type == 'cuda'",
    "assert torch.accelerator.device_count() == 1 and torch.accelerator.current_device_index() == 0",
    "torch.accelerator.set_stream(side); assert current_stream() == side; torch.cuda.set_stream(main)",
    "torch.accelerator.set_device_index(0); torch.accelerator.empty_cache()",
    "assert torch.get_device_module('cuda') is torch.cuda and torch.get_device_module(x.device) is torch.cuda",
    "state = torch.cuda.get_rng_state(); torch.cuda.set_rng_state(state)",
    "g = torch.Generator(device='cuda').manual_seed(1); torch.randn(4, device='cuda', generator=g)",
    "assert torch.version.cuda is None or torch.version.cuda",
    # tensors
    "assert x.device == torch.device('cuda', 0) and x.is_cuda and not x.is_cpu and x.get_device() == 0",
    "assert torch.zeros(2).device.type == 'cpu' and torch.zeros(2, device='cuda:0').is_cuda",
    "assert torch.zeros(2, device=x.device).is_cuda and torch.zeros_like(x).is_cuda and x.new_zeros(2).is_cuda",
    "assert torch.tensor([1.0], device='cuda').is_cuda and torch.arange(4, device=torch.device('cuda')).is_cuda",
    "h = torch.zeros(2, pin_memory=True); assert h.is_pinned() and not h.is_cuda and not x.is_pinned()",
    "h = torch.zeros(2).pin_memory(); assert h.is_pinned() and h.cuda(non_blocking=True).is_cuda",
    "assert torch.zeros(2).to('cuda').is_cuda and torch.zeros(2).to(x).is_cuda and torch.zeros(2).to(0).is_cuda",
    "assert torch.zeros(2).cuda(0).is_cuda and x.to(device='cuda', dtype=torch.float16).dtype is torch.float16",
    "assert torch.empty(2, device='cuda', dtype=torch.bfloat16).to(torch.float32).is_cuda",
    "x.record_stream(side); x.record_stream(torch.cuda.current_stream())",
    "assert 'cuda' in str(x.device) and x.type() == 'torch.cuda.FloatTensor'",
    "assert torch.nn.Linear(8, 8, device='cuda').weight.is_cuda and torch.nn.Linear(8, 8).cuda().weight.is_cuda",
    "assert torch.nn.Linear(8, 8).to('cuda').weight.device == x.device",
    "with torch.autocast('cuda', dtype=torch.bfloat16): F.linear(x, x)",
    "with torch.amp.autocast('cuda', enabled=False): x + 1",
    "with torch.device('cuda'): assert torch.zeros(2).is_cuda",
    "with torch.inference_mode(): x + 1",
    "x = torch.compile(lambda t: t + 1)(x)",
]


@pytest.mark.parametrize("fake", [False, True])
def test_what_code_may_ask(run: Callable[..., Audited], fake: bool) -> None:
    audited = run(forward(*ASKED), X, calls=1, fake=fake)
    assert audited.program is not None, audited.diagnostics


ASKED_OF_AN_NPU = [
    "assert torch.npu.is_available() and torch.npu.device_count() == 1 and not torch.cuda.is_available()",
    "assert x.is_npu and x.device.type == 'npu' and x.npu().is_npu and torch.zeros(2).npu().is_npu",
    "assert torch.nn.Linear(8, 8).npu().weight.is_npu and torch.zeros(2, device='npu:0').is_npu",
    "with torch.npu.npugraph_ex.scope.limit_core_num(12, 24): x + 1",
    "with torch.npu.npugraph_ex.scope.limit_core_num(12, 24, stream=side): x + 1",
    "torch.npu.set_stream_limit(side, 12, 24); torch.npu.reset_stream_limit(side)",
    "assert torch.npu.get_device_properties(0).name and torch.npu.get_device_name()",
    "assert torch.get_device_module('npu') is torch.npu and torch_npu.npu is torch.npu",
    "torch.npu.synchronize(); torch.npu.current_stream().synchronize(); torch.npu.set_device('npu:0')",
    "assert torch.accelerator.current_accelerator().type == 'npu'",
    "from torch_npu.npu import Stream as S; assert S is torch.npu.Stream",
    "torch.npu.manual_seed(1); torch.manual_seed(1); torch.npu.set_compile_mode(jit_compile=False)",
    "torch.npu.config.allow_internal_format = False",
    "with torch.autocast('npu', dtype=torch.bfloat16): x + 1",
    "torch_npu.npu.set_device(0); assert torch_npu.npu.is_available()",
]


def test_what_code_for_an_npu_may_ask(run: Callable[..., Audited]) -> None:
    text = (
        forward(*ASKED_OF_AN_NPU)
        .replace("torch.cuda import", "torch.npu import")
        .replace("torch.cuda.Ev", "torch.npu.Ev")
    )
    text = text.replace("torch.cuda.Stream", "torch.npu.Stream").replace("= torch.cuda.current", "= torch.npu.current")
    audited = run("import torch_npu\n" + text, X, calls=1, target="npu")
    assert audited.program is not None, audited.diagnostics


def test_where_work_goes(run: Callable[..., Audited]) -> None:
    program, _ = steps(
        run,
        "a = x.exp()",
        "with stream(side):",
        "    b = x.sin()",
        "    with stream(main):",
        "        c = x.cos()",
        "    d = x.tan()",
        "torch.cuda.set_stream(side)",
        "e = x.abs()",
        "torch.cuda.set_stream(main)",
        "with stream(None):",
        "    f = x.neg()",
    )
    wanted = [
        ("default", "exp"),
        ("side", "sin"),
        ("default", "cos"),
        ("side", "tan"),
        ("side", "abs"),
        ("default", "neg"),
    ]
    assert launched(program) == wanted
    assert program.streams[1].priority == -1  # type: ignore[attr-defined]


SYNCS = [
    ("side.wait_stream(main)", [("record", "default"), ("wait", "side")]),
    ("main.wait_event(side.record_event())", [("record", "side"), ("wait", "default")]),
    ("side.record_event(self.event); main.wait_event(self.event)", [("record", "side"), ("wait", "default")]),
    ("self.event.record(); self.event.wait(side)", [("record", "default"), ("wait", "side")]),
    ("self.event.record(side); self.event.wait()", [("record", "side"), ("wait", "default")]),
    ("side.synchronize()", [("host_sync", "side")]),
    ("torch.cuda.synchronize()", [("host_sync", "all")]),
    ("torch.accelerator.synchronize()", [("host_sync", "all")]),
]


@pytest.mark.parametrize(("line", "wanted"), SYNCS)
def test_what_orders(run: Callable[..., Audited], line: str, wanted: list[tuple[str, str]]) -> None:
    program, found = steps(run, "x = x + 1", line, "x = x + 1")
    kinds = (StepKind.RECORD, StepKind.WAIT, StepKind.HOST_SYNC)
    names = [each.name for each in program.streams]  # type: ignore[attr-defined]
    syncs = [(s.kind.value, names[s.stream] if s.stream >= 0 else "all") for s in found if s.kind in kinds]
    assert [(kind.replace("-", "_").replace(" ", "_"), name) for kind, name in syncs] == wanted


CAPTURES = [
    ("g = torch.cuda.CUDAGraph()", "with torch.cuda.graph(g):"),
    (
        "g, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()",
        "with torch.cuda.graph(g, pool=pool, stream=side):",
    ),
    ("g = torch.cuda.graphs.CUDAGraph()", "with torch.cuda.graphs.graph(g, capture_error_mode='relaxed'):"),
]


@pytest.mark.parametrize(("graph", "block"), CAPTURES)
def test_captures(run: Callable[..., Audited], graph: str, block: str) -> None:
    lines = (graph, block, "    assert torch.cuda.is_current_stream_capturing()", "    y = x + 1", "g.replay()")
    _, found = steps(run, *lines, "g.reset()", "assert not torch.cuda.is_current_stream_capturing()")
    kinds = [step.kind for step in found]
    assert StepKind.CAPTURE_BEGIN in kinds and StepKind.CAPTURE_END in kinds
    assert "replay" in [step.name for step in found]


def test_everything_is_put_back(run: Callable[..., Audited]) -> None:
    owners = (torch, torch.cuda, torch.accelerator, torch.Tensor, torch.nn.Module, torch.UntypedStorage)
    before = [dict(vars(owner)) for owner in owners]
    assert run(forward("raise ValueError('early')"), X).program is None
    assert run(forward("x = x + 1"), X).program is not None
    for owner, attributes in zip(owners, before, strict=True):
        after = dict(vars(owner))
        assert {name for name in after if after[name] is not attributes.get(name)} <= {"_dynamo", "_inductor"}, owner
        assert set(attributes) <= set(after)
    assert torch.is_grad_enabled()
