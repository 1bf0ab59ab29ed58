"""ORD102 to ORD106: records, waits and declared edges."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Edit, Severity, Span


def line(file: str, number: int) -> Span:
    return Span(file, number, 1, number, 10)


FORKED = """
    entry x
    record start default
    wait start side
    default a: x -> a @a
    record a_done default
    wait a_done side
    side b: a -> b @b
    record b_done side
    wait b_done default
    record_stream b default
    exit b
"""


def test_a_sound_program_has_no_findings(findings):
    assert [d for d in findings(FORKED, edges=["a -> b"]) if d.severity is Severity.ERROR] == []
    assert findings(FORKED, "ORD102") == []
    assert findings(FORKED, "ORD103", edges=["a -> b"]) == []
    assert findings(FORKED, "ORD105") == []
    assert findings(FORKED, "ORD106") == []


def test_wait_on_an_event_that_is_never_recorded(findings):
    [found] = findings(FORKED.replace("record a_done default", ""), "ORD102")
    assert found.message == "`side` waits for `a_done`, which is never recorded"
    assert found.span == line("test.sched", 102)  # the placement of the op that the wait protects
    assert [r.span for r in found.related] == [line("model.py", 5)]


def test_wait_on_an_event_that_is_recorded_later(findings):
    late = FORKED.replace(
        "    record a_done default\n    wait a_done side", "    wait a_done side\n    record a_done default"
    )
    [found] = findings(late, "ORD102")
    assert found.message == "`side` waits for `a_done`, which is recorded only later"
    assert [(r.span.line, r.message) for r in found.related] == [(5, "the wait"), (6, "the record")]


def test_edge_that_the_steps_do_not_honour(findings):
    [found] = findings(FORKED.replace("wait a_done side", ""), "ORD103", edges=["a -> b"])
    assert found.message == "`a -> b` is not honoured: `b` on `side` may start before `a` on `default` completes"
    assert found.span == line("test.sched", 201)
    assert [(r.span.line, r.message) for r in found.related] == [
        (4, "`a` must complete first"),
        (6, "`b` must wait for it"),
    ]


def test_edge_between_wide_groups_is_held_against_its_last_and_first_steps(findings):
    wide = """
        entry x
        record start default
        wait start one
        wait start two
        default a1: x -> a1 @a
        record early default
        default a2: x -> a2 @a
        record late default
        one a3: x -> a3 @a
        record a3_done one
        wait {event} two
        wait a3_done two
        two b1: x -> b1 @b
        two b2: x -> b2 @b
        record b_done two
        wait b_done default
        exit b2
    """
    assert findings(wide.format(event="late"), "ORD103", edges=["a -> b"]) == []
    [found] = findings(wide.format(event="early"), "ORD103", edges=["a -> b"])
    assert "`b1` on `two` may start before `a2` on `default` completes" in found.message


CHAIN = """
    entry x
    default a: x -> a @a
    one b: x -> b @b
    two c: x -> c @c
    default d: x -> d @d
    exit c
"""


def test_edge_that_two_others_imply(findings):
    [found] = findings(CHAIN, "ORD104", edges=["a -> b", "b -> c", "a -> c"])
    assert found.severity is Severity.INFO
    assert found.message == "`a -> c` is implied by stream order and the other edges"
    assert found.span == line("test.sched", 203)
    assert found.fix is not None
    assert found.fix.edits == (Edit(line("test.sched", 203), ""),)


def test_edges_that_are_needed(findings):
    assert findings(CHAIN, "ORD104", edges=["a -> b", "b -> c"]) == []


def test_of_two_equal_edges_the_later_is_redundant(findings):
    found = findings(CHAIN, "ORD104", edges=["a -> b", "a -> b"])
    assert [d.span.line for d in found] == [202]


def test_edges_that_imply_each_other_by_stream_order_leave_one(findings):
    """`a` is the last of both groups on `default`, and `c` the first of both on `two`."""
    text = CHAIN.replace("@a", "@a @m").replace("@c", "@c @n")
    found = findings(text, "ORD104", edges=["m -> n", "a -> c", "m -> c"])
    assert [d.span.line for d in found] == [202, 203]


def test_edge_within_a_stream_is_implied_by_it(findings):
    [found] = findings(CHAIN, "ORD104", edges=["a -> d"])
    assert found.message == "`a -> d` is implied by stream order and the other edges"


def test_edge_within_a_stream_that_makes_the_stream_order_is_needed(findings):
    """`d` comes before `a` in the model: the edge turns them round."""
    turned = CHAIN.replace("-> a @a", "-> a #9 @a").replace("-> d @d", "-> d #3 @d")
    assert findings(turned, "ORD104", edges=["a -> d"]) == []


def test_edge_that_keeps_a_third_op_from_overtaking_is_needed(findings):
    """Program order is a, d, b; `b -> a` puts `b` first, and without `a -> d` the op `d` would be issued at once."""
    text = """
        entry x
        default b: x -> b #3 @b
        default a: x -> a #1 @a
        default d: x -> d #2 @d
        exit d
    """
    assert findings(text, "ORD104", edges=["b -> a", "a -> d"]) == []


def test_edge_across_streams_that_another_target_of_its_own_implies(findings):
    """`a -> m` binds `b` and `c`; the way a -> b -> c through its own target counts only if a -> b is implied."""
    text = CHAIN.replace("@b", "@b @m").replace("@c", "@c @m")
    found = findings(text, "ORD104", edges=["a -> m", "b -> c"])
    assert found == []
    found = findings(text, "ORD104", edges=["a -> m", "b -> c", "a -> b"])
    assert [d.span.line for d in found] == [203]


def test_entry_and_exit_imply_nothing_between_ops(findings):
    assert findings(FORKED, "ORD104", edges=["a -> b"]) == []


def test_event_recorded_twice(findings):
    twice = FORKED.replace("record a_done default", "record start default").replace(
        "wait a_done side", "wait start side"
    )
    [found] = findings(twice, "ORD105")
    assert found.message == "`start` is recorded 2 times in one forward"
    assert [r.span.line for r in found.related] == [2, 5]
    assert found.span == line("test.sched", 101)


def test_record_that_nobody_waits_for(findings):
    [found] = findings(FORKED.replace("wait a_done side", ""), "ORD106")
    assert found.message == "`a_done` is recorded on `default`, and no stream waits for it"
    assert found.span == line("test.sched", 101)
    assert found.severity is Severity.INFO
