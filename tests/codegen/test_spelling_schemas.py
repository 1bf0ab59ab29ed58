"""`schemas.txt` against the torch that is installed. Run as a script, this file writes it anew."""

from __future__ import annotations

import inspect
import sys
import time
from pathlib import Path

import pytest

from streamsched.codegen.spell import schemas, table
from streamsched.codegen.spell.special import SPECIAL

SCHEMAS = schemas._FILE
MODULES = {"fft": "torch.fft", "linalg": "torch.linalg", "special": "torch.special", "sparse": "torch.sparse"}


def schemas_of_torch() -> str:
    """The text of `schemas.txt` for the installed torch, from the table that torch's own Python API is made from."""
    import torchgen  # type: ignore[import-untyped]
    import yaml  # type: ignore[import-untyped]

    path = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"
    entries = yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    lines = (line_of(entry) for entry in entries)
    return "".join(f"{line}\n" for line in sorted(filter(None, lines)))


def line_of(entry: dict[str, str]) -> str | None:
    schema = entry["func"]
    target = schema.partition("(")[0]
    name = target.partition(".")[0]
    places = places_of(name, entry.get("variants", "function"), entry.get("python_module", ""))
    if "Dimname" in schema:
        return None
    known = name in table.SPELLED or target in table.SPELLED
    is_private = name.startswith("_") and not name.startswith("__")
    if not known and (not places or is_private):
        return None
    return f"{','.join(places) or '-'} {schema}"


def places_of(name: str, variants: str, module: str) -> list[str]:
    """The namespaces of torch that have an op's function or method."""
    import torch

    if module in MODULES:
        namespace = getattr(torch, module)
        return [MODULES[module]] if hasattr(namespace, name.removeprefix(f"{module}_")) else []
    if module or name in table.NAMESAKES:
        return []
    has_function = "function" in variants and hasattr(torch, name)
    has_method = "method" in variants and hasattr(torch.Tensor, name)
    return ["torch"] * has_function + ["Tensor"] * has_method


def test_schemas_are_those_of_the_installed_torch() -> None:
    pytest.importorskip("torch")
    assert SCHEMAS.read_text() == schemas_of_torch(), f"stale: run `python {Path(__file__).name}` in tests/codegen"


def test_what_torch_wraps_in_python_is_spelled_by_the_tables() -> None:
    """Such functions need not take the schema's arguments: each was looked at."""
    torch = pytest.importorskip("torch")
    same_arguments = {
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "istft",
        "mH",
        "mT",
        "stft.center",
        "unflatten.int",
        "unflatten.Dimname",
    }
    known = {*table.FUNCTIONS, *table.PROPERTIES, *table.VARIADIC_TENSORS, *SPECIAL, *same_arguments}
    for target in schemas._lines():
        schema = schemas.find(target)
        assert schema is not None
        owners = [torch] * ("torch" in schema.places) + [torch.Tensor] * ("Tensor" in schema.places)
        if any(not inspect.isbuiltin(f) and not inspect.ismethoddescriptor(f) for f in functions(owners, schema.name)):
            assert known & {schema.name, f"{schema.name}.{schema.overload}"}, target


def functions(owners: list[object], name: str) -> list[object]:
    return [getattr(owner, name) for owner in owners]


def test_a_schema_is_parsed_into_its_parameters() -> None:
    schema = schemas.find("aten.std.correction")
    assert schema is not None
    assert (schema.name, schema.overload) == ("std", "correction")
    assert schema.places == frozenset({"torch", "Tensor"})
    assert [(each.name, each.type, each.default, each.keyword_only) for each in schema.parameters] == [
        ("self", "Tensor", None, False),
        ("dim", "int[1]?", "None", False),
        ("correction", "Scalar?", "None", True),
        ("keepdim", "bool", "False", True),
    ]


def test_out_parameters_are_told_from_operands() -> None:
    schema = schemas.find("aten.max.dim_max")
    assert schema is not None
    assert [each.name for each in schema.parameters if each.is_out] == ["max", "max_values"]
    in_place = schemas.find("aten.add_.Tensor")
    assert in_place is not None and not any(each.is_out for each in in_place.parameters)


def test_an_unlisted_op_has_no_schema() -> None:
    assert schemas.find("aten.no_such_op.default") is None
    assert schemas.find("mylib.add.Tensor") is None


def test_every_schema_parses() -> None:
    for line in SCHEMAS.read_text().splitlines():
        name = line.split(" ", 1)[1].partition("(")[0]
        schema = schemas.find(f"aten.{name}" if "." in name else f"aten.{name}.default")
        assert schema is not None, line
        assert all(each.name.isidentifier() and each.type for each in schema.parameters), line


def test_loading_is_fast() -> None:
    schemas._lines.cache_clear()
    start = time.perf_counter()
    schemas._lines()
    assert time.perf_counter() - start < 0.05  # some 2 ms; the margin is for busy machines


if __name__ == "__main__":
    SCHEMAS.write_text(schemas_of_torch())
    print(f"wrote {SCHEMAS}", file=sys.stderr)
