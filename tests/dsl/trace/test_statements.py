"""Statements of a function, from its source alone."""

from __future__ import annotations

import textwrap

import pytest

from streamsched.dsl.trace.statements import FunctionSource, function_source


def source_of(body: str) -> FunctionSource:
    text = "def forward(self, x, y):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    return function_source(text, "forward", 1)


def binds(body: str) -> tuple[str, ...]:
    return source_of(body).statements[0].binds


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("a = x + y", ("a",)),
        ("a = b = x + y", ("a", "b")),
        ("a, (b, *c) = x.split(2)", ("a", "b", "c")),
        ("a: object = x + y", ("a",)),
        ("x += y", ("x",)),
        ("x[0] = y", ("x",)),
        ("x[0][1] += y", ("x",)),
        ("x.data = y", ("x",)),
        ("x.add_(y)", ("x",)),
        ("x[:, 0].mul_(y)", ("x",)),
        ("x.view(-1).add_(y)", ("x",)),
        ("x.clone().add_(y)", ()),
        ("x.__iadd__(y)", ()),
        ("torch.relu_(x)", ("x",)),
        ("F.relu(x, inplace=True)", ("x",)),
        ("F.relu(x, inplace=False)", ()),
        ("torch.add(x, 1, out=y)", ("y",)),
        ("torch.max(x, 1, out=(x, y))", ("x", "y")),
        ("self.buf.add_(x)", ("self.buf",)),
        ("self.buf = x", ("self.buf",)),
        ("self.buf[:, 0] = x", ("self.buf",)),
        ("self.inner.buf += 1", ("self.inner.buf",)),
        ("self.t = x", ("self.t",)),
        ("self.buf.t().copy_(x)", ("self.buf",)),
        ("torch.add(x, 1, out=self.buf)", ("self.buf",)),
        ("x.keys.add_(y)", ("x.keys",)),
        ("self.fuse_(x)", ()),
        ("self.layers[0].buf += x", ()),
        ("a = x.add_((b := y + 1))", ("a", "x", "b")),
        ("return x.add_(y)", ("return", "x")),
        ("for i, t in enumerate(x): pass", ("i", "t")),
        ("with context(x) as c: pass", ("c",)),
        ("if (n := x.sum()) is y: pass", ("n",)),
        ("[(q := t + 1) for t in x]", ("q",)),
        ("f = lambda: (q := x + 1)", ("f",)),
    ],
)
def test_binds(statement: str, names: tuple[str, ...]) -> None:
    assert binds(statement) == names


def test_smallest_statement_holds_a_place() -> None:
    source = source_of("""\
        for i in x:
            if i.any():
                y = i + 1; z = y * 2
            else:
                with c(i): w = i
        """)
    found = [source.find(*place) for place in ((3, 11), (4, 14), (4, 24), (6, 17), (6, 23))]
    texts = [source.statements[index].text for index in found if index is not None]
    assert texts == ["if i.any():", "y = i + 1", "z = y * 2", "with c(i):", "w = i"]
    assert source.find(2, 0) is None


def test_text_is_one_line_without_comments() -> None:
    source = source_of("""\
        a = torch.cat(  # joined
            [x,
             y],
        )
        b = f(
            x,   y
        )
        """)
    assert [statement.text for statement in source.statements] == ["a = torch.cat([x, y])", "b = f( x, y )"]


def test_decorated_function_is_found_by_its_first_line() -> None:
    text = "@d(\n  1)\ndef forward(x):\n    return x\n\ndef forward(x):\n    return -x\n"
    assert function_source(text, "forward", 1).statements[0].text == "return x"
    assert function_source(text, "forward", 6).statements[0].text == "return -x"


@pytest.mark.parametrize("text", ["", "def forward(", "def other(x): return x", "\0"])
def test_no_such_function(text: str) -> None:
    assert function_source(text, "forward", 1).statements == ()


def test_places_where_one_execution_comes_by_again() -> None:
    statement = source_of("z = sum(f(t) for t in x) + x.sum()").statements[0]
    assert statement.may_repeat((2, 8), (2, 28))
    assert not statement.may_repeat((2, 31), (2, 38))
