"""Random schedules."""

from __future__ import annotations

from hypothesis import strategies as st

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.syntax import tree

AT = Span("f", 1, 1, 1, 1)
WORDS = ["a", "b", "expert_7", "stream", "group", "value", "module", "line", "model", "scope", "default", "priority"]


def _names() -> st.SearchStrategy[tree.Name]:
    return st.builds(tree.Name, st.sampled_from(WORDS), span=st.just(AT))


def _list(items: st.SearchStrategy, most: int = 3) -> st.SearchStrategy:
    return st.lists(items, min_size=1, max_size=most).map(tuple)


def _strings() -> st.SearchStrategy[str]:
    printable = st.characters(exclude_categories=["C", "Z"]) | st.sampled_from(' "\\#*{},')
    return st.text(printable, max_size=30)


def _numbers() -> st.SearchStrategy[int]:
    return st.integers(-(10**9), 10**9)


def _selectors() -> st.SearchStrategy:
    at = st.just(AT)
    value_names = st.builds(tree.Name, _strings() | st.sampled_from(["on", *WORDS]), span=at)
    lines = st.integers(0, 10**8)
    leaves = st.one_of(
        st.builds(tree.ModuleSelector, _strings(), span=at),
        st.builds(tree.OpSelector, _strings(), span=at),
        st.builds(tree.NodeSelector, _strings(), span=at),
        st.builds(tree.LineSelector, st.sampled_from(["m.py", "C:/a b/m.py", 'a"b.py']), lines, lines, span=at),
        st.builds(tree.ValueSelector, _list(value_names, 1), st.just(False), span=at),
        st.builds(tree.ValueSelector, _list(value_names), st.just(True), span=at),
        st.builds(tree.GroupSelector, st.sampled_from(WORDS), span=at),
    )

    def combined(operands: st.SearchStrategy) -> st.SearchStrategy:
        bounds = st.none() | _numbers()
        return st.one_of(
            st.builds(tree.UnionSelector, operands, operands, span=at),
            st.builds(tree.IntersectionSelector, operands, operands, span=at),
            st.builds(tree.DifferenceSelector, operands, operands, span=at),
            st.builds(tree.RangeSelector, operands, operands, span=at),
            st.builds(tree.IndexSelector, operands, _numbers(), st.none(), st.just(False), span=at),
            st.builds(tree.IndexSelector, operands, bounds, bounds, st.just(True), span=at),
        )

    return st.recursive(leaves, combined, max_leaves=8)


def _statements() -> st.SearchStrategy:
    at = st.just(AT)
    files = st.sampled_from(["model.py", "a package.module", "C:\\models\\m.py", 'odd"name.py'])
    attributes = st.sampled_from(["build", "Net.build", "m"])
    limits = st.none() | _numbers()
    dims = st.lists(st.integers(0, 10**6) | st.sampled_from(WORDS), max_size=5).map(tuple)
    specs = st.builds(tree.InputSpec, _list(_names()), st.sampled_from(["f16", "bool", "odd"]), dims, span=at)
    keys = st.sampled_from(["aic", "aiv", "mhz", "bandwidth", "streams"])
    numbers = st.dictionaries(keys, _numbers(), min_size=1).map(lambda given: tuple(given.items()))
    stages = st.lists(_list(_selectors()), min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(tree.ScheduleStatement, _names(), span=at),
        st.builds(tree.ModelStatement, files, attributes, span=at),
        st.builds(tree.ScopeStatement, _strings(), st.none() | _names(), span=at),
        st.builds(tree.InputStatement, _list(specs), span=at),
        st.builds(tree.InputsFromStatement, files, attributes, span=at),
        st.builds(tree.LeafStatement, _strings(), st.none() | st.tuples(files, attributes), span=at),
        st.builds(tree.FakesStatement, _strings(), span=at),
        st.builds(tree.TargetStatement, _names(), span=at),
        st.builds(tree.DeviceStatement, _names(), span=at),
        st.builds(tree.OwnDeviceStatement, _names(), numbers, span=at),
        st.builds(tree.DeviceFileStatement, _strings(), span=at),
        st.builds(tree.SyncStatement, st.sampled_from(["auto", "explicit"]), span=at),
        st.builds(tree.MemoryStatement, st.sampled_from(["auto", "record_stream", "join"]), span=at),
        st.builds(tree.TraceStatement, st.sampled_from(["compiled", "eager"]), span=at),
        st.builds(tree.StreamStatement, _list(_names()), limits, limits, limits, span=at),
        st.builds(tree.GroupStatement, _names(), _selectors(), span=at),
        st.builds(tree.PlacementStatement, _list(_selectors()), _names(), span=at),
        st.builds(tree.EdgeStatement, stages, span=at),
        st.builds(tree.BeforeStatement, stages, span=at),
        st.builds(tree.WorldStatement, _numbers(), span=at),
        st.builds(tree.GraphsStatement, _numbers(), span=at),
        st.builds(
            tree.HoldingStatement,
            st.sampled_from(["batch", "collective"]),
            _list(_selectors()),
            limits,
            limits,
            span=at,
        ),
        st.builds(
            tree.CostStatement, _names(), st.integers(0, 10**9).map(lambda thousandths: thousandths / 1000), span=at
        ),
    )


SELECTORS = _selectors()
"""Random selectors; their spans mean nothing."""

SCHEDULES = st.builds(tree.Schedule, st.lists(_statements(), max_size=5).map(tuple), span=st.just(AT))
"""Random schedules without comments; their spans mean nothing."""
