"""Whatever stands in a pyproject.toml is read or told of, never raised."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from streamsched.dsl.config.read import SETTINGS, read_config
from streamsched.dsl.rules import ALL

SCALARS = st.one_of(
    st.integers(-3, 3),
    st.booleans(),
    st.sampled_from(["ORD", "ORD104", "ALL", "error", "auto", "a.ini", "", 'ü \\"', "*"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text('aO." 1é', max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
TABLES = st.dictionaries(
    st.one_of(st.sampled_from(SETTINGS), st.text("ab-\"'.é", min_size=1, max_size=4)), VALUES, max_size=5
)


def toml(value: Any) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)


@given(TABLES, st.booleans())
@settings(max_examples=200, deadline=None)
def test_any_table(table: dict[str, Any], own: bool) -> None:
    lines = [f"{toml(key)} = {toml(value)}" for key, value in table.items()]
    text = "[tool.streamsched]\n" + "\n".join(lines) if own else f"tool.streamsched = {toml(table)}"
    found = read_config(text, "pyproject.toml", ALL.keys)
    assert found is not None
    for diagnostic in found[1]:
        assert 1 <= diagnostic.span.line <= text.count("\n") + 1
    if set(table) <= set(SETTINGS) and not table:
        assert found[1] == ()


@given(st.text("[]tool.streamsched=\"\n#{},'", max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text(text: str) -> None:
    read_config(text, "pyproject.toml", ALL.keys)


def test_nesting_without_end() -> None:
    found = read_config("[tool.streamsched]\nignore = " + "[" * 100_000, "pyproject.toml", ALL.keys)
    assert found is not None
    assert [diagnostic.code for diagnostic in found[1]] == ["CFG103"]
