"""ORD101, and the races that it is made from."""

from __future__ import annotations

import pytest

from streamsched.dsl.check.accesses import Race, races
from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Edit, Fix, Span
from streamsched.dsl.program.steps import Hazard
from streamsched.dsl.trace.model import StorageKind

INSERT = Span("test.sched", 9, 1, 9, 1)

RAW = """
    entry x
    record start default
    wait start side
    side warm: x -> warm
    default add: x -> B  @first
    side mm: B -> mm  @second
    record done side
    wait done default
    exit mm
"""


def test_read_and_write_of_one_storage_is_one_dependency(findings):
    [found] = findings(RAW.replace("side mm: B -> mm", "side mm: B -> B"), "ORD101")
    assert found.message.endswith("(RAW)")
    assert not [note for note in found.notes if note.startswith("the same wait")]


def test_read_of_what_another_stream_writes(findings):
    [found] = findings(RAW, "ORD101")
    assert found.message == "`mm` on `side` reads `B` that `add` on `default` writes, and nothing orders them (RAW)"
    assert str(found.span) == "test.sched:102:1"  # where `second` is placed
    assert [(str(r.span), r.message) for r in found.related] == [
        ("model.py:5:1", "`add` on `default` must complete first"),
        ("model.py:6:1", "`mm` on `side` must wait for it"),
    ]
    assert found.notes == (
        "without an order `mm` may read it before it is written",
        "missing: `add` on `default` -> `mm` on `side`; `side` has waited for `default` only up to the entry of "
        "forward()",
    )
    assert found.fix == Fix("declare the edge `first -> second`", (Edit(INSERT, "first -> second\n"),), safe=True)


def test_a_wait_covers_it(findings):
    covered = RAW.replace("    side mm", "    record B_done default\n    wait B_done side\n    side mm")
    assert findings(covered, "ORD101") == []


def test_stream_order_covers_it(findings):
    assert findings(RAW.replace("side mm", "default mm"), "ORD101") == []


def test_host_sync_covers_it(findings):
    assert findings(RAW.replace("    side mm", "    sync default\n    side mm"), "ORD101") == []


def test_write_over_what_another_stream_reads(findings):
    [found] = findings(
        """
        entry x
        record start default
        default a: x -> a
        record a_done default
        wait a_done side
        side mm: a -> mm
        default inplace: a -> a
        record done side
        wait done default
        exit mm
        """,
        "ORD101",
    )
    assert found.message == "`inplace` on `default` writes `a` that `mm` on `side` reads, and nothing orders them (WAR)"
    assert found.fix is not None
    assert found.fix.edits[0].text == ('group mm = node "mm"\ngroup inplace = node "inplace"\nmm -> inplace\n')


def test_two_writers(findings):
    [found] = findings(
        """
        entry x
        record start default
        wait start side
        default alloc buf
        record buf_done default
        wait buf_done side
        default one: x -> buf @one
        side two: x -> buf @two
        record done side
        wait done default
        exit buf
        """,
        "ORD101",
    )
    assert (
        found.message
        == "`two` on `side` writes `buf` that `one` on `default` also writes, and nothing orders them (WAW)"
    )


def test_allocation_counts_as_a_write(findings):
    [found] = findings(
        """
        entry x
        record start default
        wait start side
        default alloc buf
        side fill: -> buf
        record done side
        wait done default
        exit buf
        """,
        "ORD101",
    )
    assert found.message == (
        "`fill` on `side` writes `buf` that `empty_buf` on `default` allocates, and nothing orders them (WAW)"
    )
    assert found.notes[0] == "until it is allocated, its memory may be in use on `default` by another"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (StorageKind.GENERATOR, "draw from the same random generator"),
        (StorageKind.HOST, "both have effects that the host sees"),
        (StorageKind.PROCESS_GROUP, "are collectives of one process group"),
    ],
)
def test_orders_that_are_not_memory(findings, kind, words):
    [found] = findings(
        """
        entry x
        record start default
        wait start side
        default one: x -> a s
        side two: x -> b s
        record done side
        wait done default
        exit b
        """,
        "ORD101",
        kinds={"s": kind},
    )
    assert words in found.message
    assert found.notes[0] == "they keep program order, so that the schedule changes no number"


def test_one_finding_for_each_missing_wait(findings):
    """`b` follows `a` on its stream: a wait for `b` covers `a` and `c` as well, and the later `use` too."""
    found = findings(
        """
        entry x
        record start default
        wait start side
        default a: x -> a
        default b: x -> b
        default c: a b -> c d
        side use: a b c d -> e
        side again: b -> f
        record done side
        wait done default
        exit e f
        """,
        "ORD101",
    )
    assert [d.message for d in found] == [
        "`use` on `side` reads `c` that `c` on `default` writes, and nothing orders them (RAW)"
    ]
    assert "the same wait is missing for `d` (RAW)" in found[0].notes


def test_a_missing_wait_counts_as_mended_for_the_next(findings):
    """`late` on `side` follows `c` only through `other`: the two missing edges in between imply the third."""
    found = findings(
        """
        entry x
        record start default
        wait start side
        wait start other
        default a: x -> a
        other b: a -> b
        side c: a b -> c
        record b_end other
        record c_end side
        wait b_end default
        wait c_end default
        exit c
        """,
        "ORD101",
    )
    assert [d.message.split(" that ")[0] for d in found] == ["`b` on `other` reads `a`", "`c` on `side` reads `b`"]


def test_unforked_and_unjoined_are_left_to_capture(findings):
    found = findings(
        """
        entry x
        side mm: x -> mm
        exit mm
        """
    )
    assert {d.code for d in found} == {"CAP101", "CAP102", "MEM103", "PRF101"}


GROUPS = """
    entry x
    record start default
    wait start side
    default a: x -> a  {a}
    default b: x -> b  {b}
    side c: a b -> c  {c}
    record c_done side
    wait c_done default
    default d: c -> d  {d}
    exit d
"""


def fix_text(findings, a="", b="", c="", d="", **options):
    [found] = findings(GROUPS.format(a=a, b=b, c=c, d=d), "ORD101", **options)
    return found.fix.edits[0].text


def test_fix_takes_the_smallest_groups(findings):
    assert fix_text(findings, a="@wide", b="@wide @narrow", c="@right") == "narrow -> right\n"


def test_fix_takes_a_wide_group_before_a_new_one(findings):
    assert fix_text(findings, a="@wide", b="@wide", c="@right") == "wide -> right\n"


def test_fix_of_wide_groups_is_not_safe(findings):
    [found] = findings(GROUPS.format(a="@wide", b="@wide", c="@right", d=""), "ORD101")
    assert not found.fix.safe


def test_fix_avoids_groups_that_share_a_step(findings):
    text = 'group b = node "b"\ngroup c = node "c"\nb -> c\n'
    assert fix_text(findings, b="@both", c="@both") == text


def test_fix_avoids_an_edge_against_the_issue_order(findings):
    """`loop` holds `b`, and `d` behind `c`: an edge from it to `right` would be a cycle."""
    assert fix_text(findings, b="@loop", c="@right", d="@loop") == 'group b = node "b"\nb -> right\n'


def test_new_group_has_a_name_of_its_own(findings):
    assert fix_text(findings, a="@b", c="@right") == 'group b_2 = node "b"\nb_2 -> right\n'


def test_new_groups_have_no_keywords_for_names(findings):
    [found] = findings(GROUPS.format(a="", b="", c="@right", d="").replace("b: x", "on: x"), "ORD101")
    assert found.fix.edits[0].text == 'group on_2 = node "on"\non_2 -> right\n'


def test_fix_begins_a_line(findings):
    insert = Span("test.sched", 9, 7, 9, 7)
    assert fix_text(findings, b="@left", c="@right", insert=insert) == "\nleft -> right\n"


def test_without_a_text_the_help_says_what_to_issue(findings):
    [found] = findings(RAW, "ORD101", insert=None)
    assert found.fix is None
    assert found.help == "record an event on `default` after `add`, and let `side` wait for it before `mm`"


def test_ops_without_a_placement_point_at_the_program(findings):
    [found] = findings(RAW.replace("@first", "").replace("@second", ""), "ORD101")
    assert str(found.span) == "test.sched:1:1"


def test_races_are_all_pairs(build):
    program = build(
        """
        entry x
        side a: x -> x
        side b: x -> y
        default c: y -> x
        """
    )
    assert races(program) == (
        Race(0, 1, 0, Hazard.RAW),
        Race(0, 2, 0, Hazard.RAW),
        Race(1, 3, 0, Hazard.WAW),
        Race(2, 3, 0, Hazard.WAR),
        Race(2, 3, 1, Hazard.RAW),
    )


def test_check_is_deterministic_and_ordered(build):
    program = build(RAW.replace("wait start side", ""))
    found = check(program)
    assert found == check(program)
    assert [(d.span, d.code) for d in found] == sorted((d.span, d.code) for d in found)
    assert {d.code for d in found} >= {"ORD101", "CAP101", "ORD106"}
