"""What the language server answers about a schedule: pure functions of a text, its saved trace and a place."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import EXAMPLES

from streamsched.dsl.diagnostic import apply_edits
from streamsched.dsl.files import read_schedule
from streamsched.dsl.plan.index import Selection
from streamsched.dsl.plan.select import Selecting
from streamsched.dsl.syntax.formatter import format_selector
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.syntax.tree import DifferenceSelector, Selector
from streamsched.lsp.completion import complete
from streamsched.lsp.definition import definitions
from streamsched.lsp.document import Document, Traces, read
from streamsched.lsp.findings import findings
from streamsched.lsp.hover import NO_TRACE, hover
from streamsched.lsp.outline import outline
from streamsched.lsp.places import Place
from streamsched.lsp.rename import CannotRenameError, references, renamable, rename

MOE = str(EXAMPLES / "deepseek_moe" / "deepseek_moe.sched")
MARK = "^"


@pytest.fixture(scope="module")
def traces() -> Traces:
    return Traces()


def document(traces: Traces, text: str | None = None, path: str = MOE) -> Document:
    file = read_schedule(path)
    return read(file if text is None else replace(file, text=text), traces)


def place_of(document: Document, text: str, nth: int = 0) -> Place:
    """The place of the mark in `text`, which is looked up in the document without the mark."""
    plain = text.replace(MARK, "")
    offset = -1
    for _ in range(nth + 1):
        offset = document.file.text.index(plain, offset + 1)
    before = document.file.text[: offset + text.index(MARK)]
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))


def hovered(document: Document, text: str) -> str:
    found = hover(document, place_of(document, text), ())
    assert found is not None, text
    return found.text


def offered(traces: Traces, added: str) -> list[str]:
    whole = read_schedule(MOE).text + added
    return [offer.text for offer in complete(document(traces, whole), len(whole))[0]]


def test_hover_tells_what_a_selector_matches(traces: Traces) -> None:
    text = hovered(document(traces), 'module "shared_^experts"')
    assert "5 ops, 5 kernels, 30.0 KiB allocated" in text
    assert "| `linear_1` | `aten.linear` | `bfloat16[1, 1, 2048]` |" in text


def test_hover_on_a_group_and_on_a_stream(traces: Traces) -> None:
    assert 'group merge = value "hidden_states"[-1] - expert' in hovered(document(traces), "expert -> me^rge")
    assert "placed by line 13" in hovered(document(traces), "on sh^ared")
    unused = document(traces, read_schedule(MOE).text + "stream idle\n")
    assert "nothing is placed on it" in hovered(unused, "stream id^le")


def test_hover_tells_what_an_edge_orders(traces: Traces) -> None:
    text = hovered(document(traces), "expert -^> merge")
    assert "The 5 kernels of `expert` complete before any of the 1 kernel of `merge` starts." in text
    assert "Data: `linear_3`" in text
    other = document(traces, read_schedule(MOE).text + 'expert -> value "topk_weights"\n')
    assert "for order only" in hovered(other, "expert -^> value")
    assert "no sync" in hovered(document(traces), "expert bef^ore routed")


def test_each_group_is_selected_once_for_all_requests(traces: Traces, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[str] = []
    select = Selecting.select

    def counted(self: Selecting, selector: Selector) -> Selection:
        if isinstance(selector, DifferenceSelector):
            evaluated.append(format_selector(selector))
        return select(self, selector)

    found = document(traces)
    monkeypatch.setattr(Selecting, "select", counted)
    for _ in range(3):
        assert "before any of the 1 kernel of `merge`" in hovered(found, "expert -^> merge")
    assert len(evaluated) == 1


def test_hover_explains_words_and_rules(traces: Traces) -> None:
    assert "Gives a set of ops a name." in hovered(document(traces), "gr^oup expert")
    ignoring = document(traces, read_schedule(MOE).text + "# streamsched: ignore[ORD101] on purpose\n")
    assert "missing-edge" in hovered(ignoring, "ignore[ORD^101]")
    wrong = document(traces, read_schedule(MOE).text.replace("expert -> merge", 'expert -> module "gat"'))
    found = findings(wrong, lambda: False)
    assert found
    shown = hover(wrong, place_of(wrong, 'module "g^at"'), found)
    assert shown is not None and "**SEL101**" in shown.text


def test_hover_without_a_trace(traces: Traces, tmp_path: Path) -> None:
    (tmp_path / "a.sched").write_text(read_schedule(MOE).text)
    assert NO_TRACE in hovered(document(traces, path=str(tmp_path / "a.sched")), 'module "shared_^experts"')


@pytest.mark.parametrize(
    ("added", "first"),
    [
        ("", ["expert", "routed", "merge", "schedule"]),
        ("ta", ["target"]),
        ("group x = ", ["expert", "routed", "merge", "module"]),
        ("group x = expert | (", ["expert", "routed", "merge", "module"]),
        ("group x = expert |\n  ", ["expert", "routed", "merge", "module"]),
        ('group x = module "', ["gate", "experts", "shared_experts"]),
        ('group x = module "shared_experts.', ["shared_experts.gate_proj", "shared_experts.act_fn"]),
        ('group x = value "topk_w', ["topk_weights"]),
        ("group x = value { _, topk_i", ["topk_indices"]),
        ('group x = op "bm', ["bmm", "aten.bmm"]),
        ('group x = node "linear_', ["linear_1", "linear_2"]),
        ("expert on ", ["default", "shared"]),
        ("expert -> ", ["expert", "routed", "merge", "module"]),
        ("expert ", ["on", "before", "->"]),
        ("expert b", ["before"]),
        ("target ", ["npugraph_ex", "npu", "cuda", "cpu"]),
        ("memory j", ["join"]),
        ("stream s { ", ["priority", "cores"]),
        ("stream s { cores ai", ["aic", "aiv"]),
        ("input x: bf", ["bf16"]),
        ('model "', ["model.py:"]),
        ('model "model.py:b', ["model.py:build"]),
        ('group x = line "', ["model.py:"]),
        ("device ", ["ascend910b1"]),
        ("device mine { aic 20, ", ["aic", "aiv", "mhz"]),
        ("batch ", ["expert", "routed", "merge", "module"]),
        ("# streamsched: ignore[", ["CAP101"]),
        ("expert -> merge  # streamsched: ignore[ORD101, ord10", ["ORD101", "ORD102"]),
    ],
)
def test_completion(traces: Traces, added: str, first: list[str]) -> None:
    assert offered(traces, added)[: len(first)] == first


@pytest.mark.parametrize(
    "added",
    [
        "# a",
        "expert -> merge  # a",
        "# ignore[",
        "# streamsched: ignore[ORD101] ",
        "group ",
        "group x ",
        "schedule a",
        "world ",
        "cost",
        "cost ",
    ],
)
def test_nothing_is_offered_where_nothing_known_can_stand(traces: Traces, added: str) -> None:
    assert offered(traces, added) == []


def test_definitions_in_the_schedule(traces: Traces) -> None:
    found = document(traces)
    for use in ("ex^pert on", "[-1] - expert^", "on sh^ared"):
        (span,) = definitions(found, place_of(found, use))
        declared = found.file.text.split("\n")[span.line - 1]
        assert declared.startswith(("group expert", "stream shared"))


def test_definitions_in_the_model(traces: Traces, tmp_path: Path) -> None:
    found = document(traces)
    (build,) = definitions(found, place_of(found, 'model "mod^el.py'))
    assert build.file.endswith("deepseek_moe/model.py")
    assert Path(build.file).read_text().split("\n")[build.line - 1].startswith("def build")
    (expert,) = definitions(found, place_of(found, 'module "shared_^experts"'))
    line = Path(expert.file).read_text().split("\n")[expert.line - 1]
    assert "gate_proj" in line
    statements = definitions(found, place_of(found, 'value "hidden_^states"'))
    assert [Path(s.file).read_text().split("\n")[s.line - 1].strip()[:15] for s in statements] == [
        "hidden_states ="
    ] * 3


def test_rename_changes_every_use_and_nothing_else(traces: Traces) -> None:
    text = read_schedule(MOE).text.replace("group expert", "# expert\ngroup expert")
    found = document(traces, text)
    place = place_of(found, "expert^ on shared")
    assert renamable(found, place) is not None
    changed = apply_edits(text, rename(found, place, "shared"))
    lines = [line for line in changed.split("\n") if "shared" in line and not line.startswith("#")]
    assert lines == [
        "stream shared",
        'group shared = module "shared_experts"',
        'group merge = value "hidden_states"[-1] - shared',
        "shared on shared",
        "shared before routed",
        "shared -> merge",
    ]
    assert "# expert\n" in changed
    assert parse(changed, "").diagnostics == ()
    assert len(references(found, place)) == len(references(found, place, declaration=False)) + 1 == 5


@pytest.mark.parametrize(
    ("name", "why"), [("merge", "already"), ("1st", "no name"), ("on", "keyword"), ("", "no name"), ("a b", "no name")]
)
def test_rename_refuses(traces: Traces, name: str, why: str) -> None:
    found = document(traces)
    with pytest.raises(CannotRenameError, match=why):
        rename(found, place_of(found, "expert^ on shared"), name)


def test_the_default_stream_is_not_renamed(traces: Traces) -> None:
    found = document(traces, read_schedule(MOE).text + "merge on default\n")
    assert renamable(found, place_of(found, "merge on de^fault")) is None


def test_nothing_is_renamed_where_part_of_the_text_is_unread(traces: Traces) -> None:
    found = document(traces, read_schedule(MOE).text + "expert -> -> merge\n")
    with pytest.raises(CannotRenameError, match="does not parse"):
        rename(found, place_of(found, "expert^ on shared"), "other")


def test_outline(traces: Traces) -> None:
    entries = [(entry.kind, entry.name) for entry in outline(document(traces).schedule)]
    assert entries == [
        ("schedule", "deepseek_moe"),
        ("model", "model.py:build"),
        ("stream", "shared"),
        ("group", "expert"),
        ("group", "routed"),
        ("group", "merge"),
    ]


def test_findings_are_those_of_lint(traces: Traces) -> None:
    from streamsched.dsl.pipeline import load

    assert findings(document(traces), lambda: False) == load(MOE).diagnostics
    assert findings(document(traces), lambda: True) is None


def test_a_trace_is_read_again_when_its_file_changes(tmp_path: Path) -> None:
    traces = Traces()
    path = tmp_path / "a.sched"
    path.write_text(read_schedule(MOE).text)
    assert document(traces, path=str(path)).index is None
    saved = tmp_path / "a.trace.json.gz"
    saved.write_bytes((EXAMPLES / "deepseek_moe" / "deepseek_moe.trace.json.gz").read_bytes())
    first = document(traces, path=str(path)).index
    assert first is not None and document(traces, path=str(path)).index is first
    saved.write_bytes(gzip.compress(json.dumps({"format": "other"}).encode()))
    broken = document(traces, path=str(path))
    assert broken.index is None and broken.saved is not None
    assert [d.code for d in findings(broken, lambda: False) or ()] == ["SEL105"] or broken.saved.diagnostics
