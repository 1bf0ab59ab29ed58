"""Saved traces: what is read is what was written, and what cannot be read is said."""

from __future__ import annotations

import dataclasses
import errno
import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace import store
from streamsched.dsl.trace.encode import encode
from streamsched.dsl.trace.model import (
    Instance,
    Literal,
    Mapping,
    ModuleCall,
    Op,
    Opaque,
    OpKind,
    Parameter,
    ParameterKind,
    Position,
    Ref,
    Sequence,
    Source,
    Statement,
    Storage,
    StorageKind,
    Trace,
    Value,
)
from streamsched.dsl.trace.store import digest, load, save

SPAN = Span("test.sched", 1, 1, 1, 9)
FLAGS = (("self.kind == 'ü'", "True"),)


def example() -> Trace:
    """A trace in which every class and field has something to say."""
    tree = Sequence(
        "tuple", (Ref(0), Mapping(("'k'",), (Literal("1"),)), Instance("m:C", ("a",), (Opaque("a thing"),)))
    )
    position = Position("model.py", "M.forward", 3, 5, 3, 9)
    return Trace(
        determined_by=('model "model.py:M"',),
        torch_version="2.13.0",
        python_version="3.11",
        root="model:M",
        parameters=(Parameter("x", ParameterKind.KEYWORD_ONLY, "None"),),
        inputs=(0,),
        result=Sequence("list", (Ref(1),)),
        ops=(
            Op(
                "add",
                "aten.add.Tensor",
                OpKind.KERNEL,
                (Ref(0), Literal("1")),
                (("alpha", tree),),
                Ref(1),
                (0,),
                (1,),
                0,
            ),
            Op(
                "e",
                "aten.empty",
                OpKind.ALLOCATE,
                (),
                (),
                Literal("None"),
                (),
                (),
                0,
                0,
                0,
                2,
                True,
                True,
                ("torch.no_grad()",),
            ),
        ),
        values=(
            Value("x", (0,), "float16", (2, 3), (3, 1), expression="x", local="x", aliases=("r", "s")),
            Value("add", (1, 0), "float16", (), (), 0, inner="ü", same_object=0),
        ),
        storages=(Storage("x", StorageKind.INPUT, 12), Storage("add", StorageKind.OP, 12)),
        calls=(ModuleCall("", 0, "", "model:M", -1, 0, 2, (tree,), (("k", Ref(0)),), Ref(1), True, True, FLAGS),),
        statements=(Statement(position, ("a", "b"), "a, b = f(x)"),),
        positions=(position,),
        stacks=((0,), (0, 0)),
        sources=(("model.py", Source("model.py", "00")), ("site-packages/t/a.py", Source("t/a.py", "", "t", "1.0"))),
        warnings=("watch out",),
        told=(("TRC201", "watch out"),),
        digest="ab",
        objects=(("x", "list"),),
    )


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "a.trace.json.gz"
    save(example(), path)
    loaded = load(path, SPAN)
    assert loaded.diagnostics == ()
    assert loaded.trace == example()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_round_trip_of_an_empty_trace(tmp_path: Path) -> None:
    nothing = ModuleCall("", 0, "", "model:M", -1, 0, 0, (), (), Literal("None"))
    trace = dataclasses.replace(
        example(), ops=(), values=(), inputs=(), result=Literal("None"), storages=(), stacks=(), calls=(nothing,)
    )
    save(trace, tmp_path / "a")
    assert load(tmp_path / "a", SPAN).trace == trace


def test_a_file_without_the_later_columns_of_calls_is_read(tmp_path: Path) -> None:
    old = document()
    del old["calls"][-2:]
    (tmp_path / "a").write_bytes(gzip.compress(json.dumps(old).encode()))
    loaded = load(tmp_path / "a", SPAN).trace
    assert loaded is not None
    assert loaded.calls == (dataclasses.replace(example().calls[0], hooked=False, flags=()),)


def test_further_names_of_values_are_written_only_where_there_are_any(tmp_path: Path) -> None:
    trace = example()
    without = dataclasses.replace(trace, values=tuple(dataclasses.replace(v, aliases=()) for v in trace.values))
    save(without, tmp_path / "a")
    assert load(tmp_path / "a", SPAN).trace == without
    columns = json.loads(gzip.decompress((tmp_path / "a").read_bytes()))["values"]
    assert len(document()["values"]) == len(columns) + 1
    assert digest(trace) != digest(without)


def test_bytes_depend_on_the_trace_alone(tmp_path: Path) -> None:
    save(example(), tmp_path / "a")
    save(example(), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_same_model_same_bytes_in_another_process_and_folder(
    traced: Callable[..., Trace], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    trace = traced(
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

            def forward(self, x, y):
                for layer in self.l:
                    x = layer(x).relu_() + y
                return {"x": x, "y": y.split(2)}
        """,
        x=(4, 4),
        y=(4, 4),
    )
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "model.py").write_bytes((tmp_path / "model.py").read_bytes())
    script = """
import sys
from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.export import trace_model
from streamsched.dsl.trace.request import InputTensor, TraceRequest
from streamsched.dsl.trace.store import save
span = Span("a", 1, 1, 1, 1)
inputs = (InputTensor("x", "f32", (4, 4)), InputTensor("y", "f32", (4, 4)))
statements = ('model "model.py:Model"',)
request = TraceRequest(sys.argv[1], "model.py", "Model", inputs, None, statements, span, None, span)
save(trace_model(request).trace, sys.argv[1] + "/out")
"""
    subprocess.run([sys.executable, "-c", script, str(elsewhere)], check=True)
    save(trace, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == (elsewhere / "out").read_bytes()


def test_an_older_file_stays_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.mkdir()  # a folder cannot be replaced by a file
    with pytest.raises(OSError, match=r".*"):
        save(example(), path)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def document() -> dict[str, Any]:
    path_free = example()
    content = json.loads(encode(path_free))
    assert isinstance(content, dict)
    return content


def unreadable(tmp_path: Path, content: bytes) -> tuple[str, str]:
    path = tmp_path / "a"
    path.write_bytes(content)
    loaded = load(path, SPAN)
    assert loaded.trace is None
    [diagnostic] = loaded.diagnostics
    assert diagnostic.span == SPAN
    return diagnostic.code, diagnostic.message.replace(str(path), "PATH")


@pytest.mark.parametrize(
    ("make", "code", "message"),
    [
        (lambda d: b"", "TRC111", "the trace PATH holds no JSON"),
        (lambda d: b"{}", "TRC111", "the trace PATH cannot be read: it is not gzipped"),
        (lambda d: gzip.compress(d)[:-20], "TRC111", "the trace PATH is cut short or damaged"),
        (lambda d: gzip.compress(b"\xff\xfe"), "TRC111", "the trace PATH holds no JSON"),
        (lambda d: gzip.compress(b"[" * 100_000), "TRC111", "the trace PATH holds no JSON"),
        (lambda d: gzip.compress(b"[1]"), "TRC111", "PATH holds no trace"),
        (lambda d: gzip.compress(d.replace(b'"strings":', b'"s":')), "TRC111", "the trace PATH is damaged"),
        (lambda d: gzip.compress(d.replace(b'"kernel"', b'"colonel"')), "TRC111", "the trace PATH is damaged"),
        (
            lambda d: gzip.compress(d.replace(b'"version":1', b'"version":99')),
            "TRC112",
            "format 99; this release reads",
        ),
    ],
)
def test_unreadable(tmp_path: Path, make: Callable[[bytes], bytes], code: str, message: str) -> None:
    found = unreadable(tmp_path, make(json.dumps(document(), separators=(",", ":")).encode()))
    assert found[0] == code
    assert message in found[1]


Damage = Callable[[dict[str, Any]], object]


def _set(key: str, column: int, row: int, value: Any) -> Damage:
    return lambda document: document[key][column].__setitem__(row, value)


def _table(key: str, *rows: Any) -> Damage:
    return lambda document: document.__setitem__(key, list(rows))


@pytest.mark.parametrize(
    "damage",
    [
        _set("ops", 5, 0, -1),
        _set("ops", 6, 0, -1),
        _set("ops", 8, 0, 1),
        _set("ops", 8, 0, True),
        _set("ops", 9, 1, 2),
        _set("ops", 0, 1, "add"),
        _set("ops", 0, 1, "a b"),
        lambda d: d["ops"][1].pop(),
        lambda d: d["ops"][13].__setitem__(0, 2),
        _set("values", 5, 1, 1),
        _set("values", 5, 1, 7),
        _set("values", 9, 0, 0),
        _set("values", 9, 0, 1),
        _set("values", 0, 0, "a\nb"),
        _set("calls", 4, 0, 0),
        _set("calls", 6, 0, 1),
        _set("calls", 5, 0, 1),
        _table("inputs", 1),
        _table("inputs", -1),
        _table("warnings", "\ud800"),
        _table("warnings", 1),
        _table("stacks", [0], [1]),
        _table("stacks", [0], "0"),
        _table("parameters", ["x y", "keyword_only", ""]),
        _table("parameters", ["x", "keyword_only", "(1"]),
        _table("objects", ["x +", "list"]),
        _table("assignments", ["x.a", 0, [1], 0, 1, ""]),
        _table("assignments", ["x.a", 0, [0], 0, 9, ""]),
        _table("numbers", [0.5], [0], [1]),
        _table("sources", ["model.py"]),
        lambda d: d["arguments"].insert(0, [1, "1 +"]),
        lambda d: d["arguments"].append([2, "list", [len(d["arguments"])]]),
        lambda d: d["arguments"].append([2, "slice", [0]]),
        lambda d: d["arguments"].append([3, ["'a'"], []]),
        lambda d: (d["arguments"].append([0, 2]), d.__setitem__("result", len(d["arguments"]) - 1)),
        lambda d: d["arguments"].append([7, "a"]),
        lambda d: d["positions"][0].__setitem__(2, 0),
        lambda d: d["positions"][0].__setitem__(4, 1),
        lambda d: d["storages"][0].__setitem__(2, "batch"),
        lambda d: d.__setitem__("strings", [*d["strings"], "("]) or _set("values", 6, 0, len(d["strings"]) - 1)(d),
    ],
)
def test_what_does_not_hold_together_is_not_loaded(tmp_path: Path, damage: Damage) -> None:
    damaged = document()
    damage(damaged)
    code, message = unreadable(tmp_path, gzip.compress(json.dumps(damaged).encode()))
    assert (code, message) == ("TRC111", "the trace PATH is damaged")


def test_a_seal_is_for_what_nobody_has_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[object] = []
    monkeypatch.setattr(store, "check", checked.append)
    path = tmp_path / "a.trace.json.gz"
    save(example(), path)
    assert load(path, SPAN).trace == example() and not checked
    text = gzip.decompress(path.read_bytes())
    document = json.loads(text)
    unsealed = json.dumps({key: value for key, value in document.items() if key != "seal"}).encode()
    for edited in (text.replace(b"watch out", b"watch it!", 1), text[:-4] + b'00"}', unsealed):
        assert edited != text
        path.write_bytes(gzip.compress(edited))
        before = len(checked)
        load(path, SPAN)
        assert len(checked) == before + 1


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none", "no such file"), (tmp_path, "is a directory")):
        [diagnostic] = load(path, SPAN).diagnostics
        assert diagnostic.code == "TRC111"
        assert reason in diagnostic.message


def test_digest_is_of_content_not_of_layout() -> None:
    trace = example()
    moved = Position("other.py", "M.forward", 30, 5, 30, 9)
    elsewhere = dataclasses.replace(
        trace,
        positions=(moved,),
        statements=(Statement(moved, ("a", "b"), "a,b=f(x)"),),
        sources=(),
        torch_version="2.14.0",
        digest="",
    )
    assert digest(elsewhere) == digest(trace)
    for changed in (
        dataclasses.replace(trace, ops=trace.ops[:1]),
        dataclasses.replace(trace, statements=(Statement(moved, ("c",), ""),)),
        dataclasses.replace(trace, root="model:N"),
        dataclasses.replace(trace, calls=(dataclasses.replace(trace.calls[0], hooked=False, flags=()),)),
    ):
        assert digest(changed) != digest(trace)


def test_reading_needs_no_torch(tmp_path: Path) -> None:
    save(example(), tmp_path / "a")
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from streamsched.dsl.trace import export, freshness, saved_rules, store\n"
        "from streamsched.dsl.diagnostic import Span\n"
        "assert store.load(sys.argv[1], Span('a', 1, 1, 1, 1)).trace"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "a")], check=True)


def test_a_trace_that_may_not_be_read_is_not_to_be_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(store, "file_bytes", refuse)
    (found,) = load(tmp_path / "a.trace.json.gz", SPAN).diagnostics
    assert found.code == "TRC111"
    assert found.message.endswith("cannot be read: permission denied")
    assert found.help == "let the user of this command read it"
