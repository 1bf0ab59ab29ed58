"""TGT, dropped calls: what npugraph_ex leaves out of the graph without a word."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.program import via

SYNC = """
    entry x
    default a: x -> a
    sync *
    default b: a -> b
    exit b
"""
SIDE = "side mm: a w -> y  @side"


def test_synchronize(hazards, findings):
    [found] = hazards(SYNC, {"sync *": via.DEVICE_SYNCHRONIZE}, whole_graph=True)
    assert (found.code, found.severity) == ("TGT116", Severity.ERROR)
    assert found.message == "npugraph_ex drops `torch.npu.synchronize()` in forward()"
    assert hazards(SYNC, {"sync *": via.DEVICE_SYNCHRONIZE}, target="npu") == hazards(SYNC) == []
    text = SYNC.replace("sync *", f"sync * via {via.DEVICE_SYNCHRONIZE}")
    assert findings(text, "CAP103", target="npugraph_ex", whole_graph=True) == [], "one finding is enough"


def test_query(hazards):
    [found] = hazards(via={"record ready default": via.QUERY})
    assert (found.code, found.severity) == ("TGT117", Severity.ERROR)
    assert found.message == (
        "the host asks by `query` whether `ready`, recorded on `default`, is complete; "
        "in a graph the answer is always yes"
    )
    assert hazards(via={"record ready default": via.QUERY}, target="npu") == []


def test_timing(hazards):
    [found] = hazards(via={"record ready default": via.ENABLE_TIMING})
    assert (found.code, found.severity) == ("TGT118", Severity.WARNING)
    assert found.message == "`ready` was made with `enable_timing`, which npugraph_ex drops"
    assert hazards(via={"record ready default": via.ENABLE_TIMING}, target="npu") == []


def test_limit_around_a_block(hazards):
    for target in ("npugraph_ex", "npu"):
        [found] = hazards(via={SIDE: via.LIMIT_AROUND_BLOCK}, target=target)
        assert (found.code, found.severity) == ("TGT119", Severity.WARNING)
        assert found.message == "`limit_core_num` stands around the block of `side` and does not limit it"
        assert found.span.line == 101
    assert hazards(via={SIDE: via.LIMIT_AROUND_BLOCK}, target="cuda") == []
    assert hazards(via={"default mul: y -> z": via.LIMIT_AROUND_BLOCK}) == []
