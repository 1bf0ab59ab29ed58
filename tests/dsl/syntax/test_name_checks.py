"""The rules of a schedule on its own: one failing and one passing case each, and what their fixes do."""

from __future__ import annotations

import pytest

from streamsched.dsl.diagnostic import Diagnostic, Severity, apply_edits
from streamsched.dsl.syntax.names import FINDING_LIMIT
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.syntax.statement_rules import DTYPES, TARGETS, TORCH_DTYPES

HEAD = 'schedule demo\nmodel "m.py:b"\n'
USED = 'stream s\nop "x" on s\n'


def findings(text: str, head: str = HEAD) -> list[Diagnostic]:
    return list(parse(head + text, "dir/f.sched").diagnostics)


def names(text: str, head: str = HEAD) -> list[str]:
    return [finding.name for finding in findings(text, head)]


def only(text: str, head: str = HEAD) -> Diagnostic:
    (finding,) = findings(text, head)
    return finding


def mended(text: str, head: str = HEAD) -> str:
    fix = only(text, head).fix
    assert fix is not None
    return apply_edits(head + text, fix.edits)


def test_a_clean_schedule_has_no_findings() -> None:
    text = (
        'input x: f16[4]\ntarget npu\nstream a, b\ngroup g = op "x"\ngroup h = g[0] | op "y"\nh on a\ng on b\ng -> h\n'
    )
    assert names(text) == []


def test_streams_and_groups_are_separate_namespaces() -> None:
    assert names('stream a\ngroup a = op "x"\na on a\n') == []


# Duplicates


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stream s, t, s\nop 'x' on s\nop 'y' on t\n", "stream `s` is declared twice"),
        (f"{USED}stream s\n", "stream `s` is declared twice"),
        ("group g = op 'x'\ngroup g = op 'y'\ng -> g\n", "group `g` is declared twice"),
        ("input x: f16[1]\ninput y, x: f16[1]\n", "input `x` is declared twice"),
    ],
)
def test_duplicate_names(text: str, message: str) -> None:
    finding = only(text.replace("'", '"'))
    assert (finding.name, finding.message) == ("duplicate-name", message)
    assert finding.related[0].span < finding.span


# Undefined names


def test_an_undefined_stream_is_mended_to_the_nearest_everywhere() -> None:
    text = 'stream shared\nop "x" on sharde\nop "y" on sharde\n'
    finding = only(text)
    assert (finding.code, finding.message, finding.span.line) == ("SYN103", "there is no stream `sharde`", 4)
    assert finding.help == "did you mean `shared`?"
    assert mended(text) == HEAD + 'stream shared\nop "x" on shared\nop "y" on shared\n'


def test_an_undefined_group_is_found_inside_selectors() -> None:
    text = 'group expert = op "x"\ngroup rest = op "y" - (expret[0] & op "z")\nrest, expert -> op "w"\n'
    finding = only(text)
    assert (finding.message, finding.span.line, finding.span.column) == ("there is no group `expret`", 4, 24)
    assert "(expert[0]" in mended(text)


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        (f'{USED}s -> op "y"', "`s` is a stream, not a group", "edges and selectors take groups"),
        (f'{USED}default -> op "y"', "`default` is a stream, not a group", "edges and selectors take groups"),
        ('group g = op "x"\ng -> op "y"\nop "z" on g', "`g` is a group, not a stream", "declare one with `stream"),
        ('op "x" on qqq', "there is no stream `qqq`", "declare it: `stream qqq`"),
        ('qqq -> op "x"', "there is no group `qqq`", "define it: `group qqq = ...`"),
        ('module -> op "x"', "there is no group `module`", 'add what it selects: `module "..."`'),
    ],
)
def test_undefined_names_without_a_near_one(text: str, message: str, help: str) -> None:
    finding = only(text)
    assert finding.message == message
    assert help in (finding.help or "")
    assert finding.fix is None


def test_the_cost_of_an_undefined_group() -> None:
    assert names("cost g = 1us") == ["not-supported-yet", "undefined-name"]


# Statements that are missing, misplaced or repeated


def test_a_missing_schedule_is_named_after_the_file() -> None:
    text = 'model "m:b"\n'
    finding = only(text, head="")
    assert finding.message == "the schedule has no name"
    assert mended(text, head="") == 'schedule f\nmodel "m:b"\n'


def test_a_missing_schedule_of_an_unnameable_file() -> None:
    finding = parse('model "m:b"', "<standard input>").diagnostics[0]
    assert finding.fix is None


def test_a_missing_model() -> None:
    finding = only("schedule x\n", head="")
    assert finding.message == "the schedule does not say which model it is for"
    assert 'model "model.py:build"' in (finding.help or "")


def test_statements_that_did_not_parse_are_not_missing() -> None:
    assert names("shedule x\nmodel m.py:b\n", head="") == ["syntax-error", "syntax-error"]


def test_schedule_moves_to_the_top() -> None:
    text = '# c\nmodel "m:b"\nschedule x  # d\n'
    assert only(text, head="").name == "misplaced-schedule"
    assert mended(text, head="") == '# c\nschedule x  # d\nmodel "m:b"\n'


@pytest.mark.parametrize(
    "line",
    [
        *("schedule demo", 'model "m.py:b"', 'inputs from "m:f"', "target npu", "sync auto", "memory join", "graphs 2"),
        *("device ascend910b3", "device mine { aic 1, aiv 2 }", 'device "Ascend910B3.ini"'),
    ],
)
def test_statements_that_may_be_given_once(line: str) -> None:
    once = HEAD if line in HEAD else f"{HEAD}{line}\n"
    assert names("", head=once) == []
    finding = only(f"{line}\n", head=once)
    assert finding.name == "repeated-statement"
    assert finding.fix is not None and finding.fix.safe
    assert apply_edits(f"{once}{line}\n", finding.fix.edits) == once
    assert finding.related[0].span.line == once.splitlines().index(line) + 1


def test_a_repetition_that_differs_is_not_removed_without_asking() -> None:
    finding = only("sync auto\nsync explicit\n")
    assert finding.fix is not None and not finding.fix.safe


def test_input_may_be_repeated() -> None:
    assert names("input x: f16[1]\ninput y: f16[1]\n") == []


def test_inputs_come_from_one_place() -> None:
    finding = only('inputs from "m:f"\ninput x: f16[1]\n')
    assert (finding.name, finding.span.line, finding.related[0].span.line) == ("conflicting-inputs", 4, 3)


# Circular groups


def test_circular_groups_are_reported_once_each() -> None:
    text = 'group a = b | op "x"\ngroup b = c\ngroup c = a\ngroup d = d\ngroup e = a\ne, d -> op "x"\n'
    first, second = findings(text)
    assert (first.name, first.message) == ("circular-group", "group `a` is defined through itself")
    assert first.notes == ("the way round: a -> b -> c -> a",)
    assert [related.message for related in first.related] == ["`b` uses `c`", "`c` uses `a`"]
    assert second.message == "group `d` is defined through itself"


def test_a_group_may_be_used_before_it_is_defined() -> None:
    assert names('group a = b | c\ngroup b = c\ngroup c = op "x"\na -> op "y"\n') == []


def test_a_long_chain_of_groups_is_no_circle() -> None:
    chain = "".join(f"group g{i} = g{i + 1}\n" for i in range(3000))
    assert names(f'{chain}group g3000 = op "x"\ng0 -> op "y"\n') == []


# Values


@pytest.mark.parametrize("target", TARGETS)
def test_targets(target: str) -> None:
    assert names(f"target {target}\n") == []


def test_an_unknown_target() -> None:
    assert only("target npugraph\n").help == "the targets are npugraph_ex, npu, cuda, cpu"
    assert mended("target npugraph\n") == f"{HEAD}target npugraph_ex\n"


def test_dtypes_are_those_of_the_tracer() -> None:
    from streamsched.dsl.trace.request import DTYPES as TRACED

    assert set(DTYPES) == set(TRACED)
    assert {*TORCH_DTYPES, "bool"} == set(TRACED.values())


@pytest.mark.parametrize("dtype", [*DTYPES, *TORCH_DTYPES])
def test_known_dtypes(dtype: str) -> None:
    assert names(f"input x: {dtype}[1]\n") == []


@pytest.mark.parametrize(("dtype", "nearest"), [("fp16", "f16"), ("flaot32", "float32"), ("F16", "f16")])
def test_an_unknown_dtype(dtype: str, nearest: str) -> None:
    text = f"input a: f16[1], x: {dtype}[1]\n"
    finding = only(text)
    assert (finding.message, finding.span.column) == (f"there is no dtype `{dtype}`", 21)
    assert mended(text) == f"{HEAD}input a: f16[1], x: {nearest}[1]\n"


def test_default_may_only_be_limited() -> None:
    assert names("stream default { cores aic 8 }\n") == []
    assert only("stream default\n").message == "`default` is there without being declared"
    assert mended("stream default\n") == HEAD
    assert mended('stream default, a\nop "x" on a\n') == f'{HEAD}stream a\nop "x" on a\n'
    assert "priority" in only("stream default { priority 1; cores aic 8 }\n").message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stream default { cores aic 0 }", "a limit of cores is 1 or more, not `aic 0`"),
        ("stream default { cores aiv -1 }", "a limit of cores is 1 or more, not `aiv -1`"),
        ("input x: f16[4, -1]", "a size is 0 or more, not -1"),
        ('line "m.py:0-3" -> op "x"', "lines count from 1"),
        ('line "m.py:4-3" -> op "x"', "lines 4-3 run backwards: write the smaller number first"),
        ('value "" -> op "x"', "the name of a value is empty"),
        ('op "x" -> (op "y" | node "")', "the name of a node is empty"),
    ],
)
def test_invalid_values(text: str, message: str) -> None:
    assert (only(text).name, only(text).message) == ("invalid-value", message)


def test_an_empty_tensor_is_valid() -> None:
    assert names("input x: f16[0, 4]\n") == []


@pytest.mark.parametrize("text", ['group g = op "x"\ng -> g\ncost g = 1us'])
def test_not_supported_yet(text: str) -> None:
    finding = only(text)
    assert (finding.name, finding.severity) == ("not-supported-yet", Severity.ERROR)
    assert "not supported yet" in finding.message
    assert parse(HEAD + text, "f").complete


# Unused names


def test_an_unused_stream_leaves_its_list() -> None:
    text = 'stream a, b, c\nop "x" on {}\n'
    for used, left in (("a", "b, c"), ("b", "a, c"), ("c", "a, b")):
        for finding in findings(text.format(used)):
            assert finding.name == "unused-stream"
            assert finding.severity is Severity.WARNING
            assert finding.fix is not None
            rest = apply_edits(HEAD + text.format(used), finding.fix.edits)
            kept = [name for name in ("a", "b", "c") if f"`{name}`" not in finding.message]
            assert rest == HEAD + f'stream {", ".join(kept)}\nop "x" on {used}\n'
        assert [finding.message[-2] for finding in findings(text.format(used))] == left.split(", ")


def test_a_stream_that_nobody_uses_goes_with_its_statement() -> None:
    assert mended("stream a {\n priority 1\n}\ntarget npu\n") == f"{HEAD}target npu\n"
    assert mended("stream a") == HEAD


def test_an_unused_group() -> None:
    text = 'group g = op "x"\n'
    finding = only(text)
    assert (finding.code, finding.severity) == ("SYN202", Severity.WARNING)
    assert mended(text) == HEAD


@pytest.mark.parametrize("use", ["g on default", 'g -> op "y"', 'op "y" before g', 'group h = g\nh -> op "y"'])
def test_what_uses_a_group(use: str) -> None:
    assert names(f'group g = op "x"\n{use}\n') == []


def test_a_cost_alone_does_not_use_a_group() -> None:
    unused = next(d for d in findings('group g = op "x"\ncost g = 1us\n') if d.name == "unused-group")
    assert unused.fix is None


def test_many_findings_of_one_rule_are_cut_off_and_that_is_said() -> None:
    many = findings("".join(f'op "x" on q{i}\n' for i in range(FINDING_LIMIT + 1)))
    assert len(many) == FINDING_LIMIT
    assert "more findings of this rule follow" in many[-1].notes[0]
    assert findings("".join(f'op "x" on q{i}\n' for i in range(FINDING_LIMIT)))[-1].notes == ()


def test_an_unknown_device() -> None:
    text = "device ascend910b5\n"
    finding = only(text)
    assert (finding.code, finding.message) == ("SYN114", "there is no device `ascend910b5`")
    assert finding.fix is not None and finding.fix.message == "write `ascend910b4`"
    assert mended(text).endswith("device ascend910b4\n")
    assert "ascend910_93" in finding.notes[0]
    assert finding.help == "give its numbers: `device ascend910b5 { aic 20, aiv 40 }`, or the path of CANN's file"
    assert names("device Ascend910B3\n") == []
    assert names("device anything { aic 1, aiv 1 }\n") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("device d { aic 20 }", "the device lacks `aiv N`"),
        ("device d { mhz 20 }", "the device lacks `aic N` and `aiv N`"),
        ("device d { aic 0, aiv 2 }", "a number of a device is 1 or more, not `aic 0`"),
        ('device ""', "the path of the device's file is empty"),
        ("graphs 0", "the number of graphs is 1 or more, not 0"),
        ('batch op "a" cores aiv 0', "ops in batch mode hold 1 core or more, not `aiv 0`"),
        ('collective op "a" cores aiv -1', "ops hold 0 cores or more, not `aiv -1`"),
        ("stream default { cores aiv 0 }", "a limit of cores is 1 or more, not `aiv 0`"),
    ],
)
def test_numbers_of_devices_graphs_and_cores(text: str, message: str) -> None:
    finding = only(f"{text}\n")
    assert (finding.code, finding.message) == ("SYN112", message)


def test_what_holds_no_cores_may_be_said() -> None:
    assert names('collective op "a" cores aic 0\n') == []


def test_a_group_that_only_holds_cores_is_used() -> None:
    assert names('group a = op "a"\nbatch a\n') == []


def test_a_group_that_holds_cores_must_be_there() -> None:
    assert names("batch a\n") == ["undefined-name"]
