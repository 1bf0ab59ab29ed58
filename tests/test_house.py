"""The direction of imports: what may know what. Read from the code's own import statements."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("cli", "codegen", "dsl", "grammars", "lsp", "npu_sim", "verify")

ALLOWED = {
    "grammars": set[str](),
    "npu_sim": set[str](),
    "dsl.diagnostic": set[str](),
    "dsl.nearest": set[str](),
    "dsl.globs": set[str](),
    "dsl.garbage": set[str](),
    "dsl.devices": {"dsl.files"},
    "dsl.saying": set[str](),
    "dsl.rule": {"dsl.diagnostic"},
    "dsl.files": set[str](),
    "dsl.syntax": {"grammars", "dsl.devices", "dsl.diagnostic", "dsl.nearest", "dsl.rule"},
    "dsl.trace": {
        "dsl.diagnostic",
        "dsl.files",
        "dsl.garbage",
        "dsl.globs",
        "dsl.nearest",
        "dsl.rule",
        "dsl.saying",
        "npu_sim",
    },
    "dsl.program": {"dsl.devices", "dsl.diagnostic", "dsl.trace"},
    "dsl.config": {"dsl.diagnostic", "dsl.files", "dsl.nearest", "dsl.rule", "dsl.syntax"},
    "dsl.report": {"dsl.diagnostic", "dsl.files", "dsl.rule"},
    "dsl.record": {"dsl.diagnostic", "dsl.nearest", "dsl.rule", "dsl.saying", "dsl.trace", "dsl.program"},
    "dsl.plan": {
        *("dsl.devices", "dsl.diagnostic", "dsl.globs", "dsl.nearest", "dsl.rule"),
        *("dsl.syntax", "dsl.trace", "dsl.program"),
    },
    "dsl.check": {"dsl.devices", "dsl.diagnostic", "dsl.rule", "dsl.trace", "dsl.program"},
    "dsl.draft": {"dsl.diagnostic", "dsl.trace", "dsl.program", "dsl.plan", "dsl.syntax"},
    "dsl.rules": {
        "dsl.nearest",
        "dsl.rule",
        "dsl.syntax",
        "dsl.trace",
        "dsl.plan",
        "dsl.check",
        "dsl.record",
        "dsl.config",
        "dsl.lint",
    },
    "dsl.pipeline": {"dsl"},
    "dsl.lint": {"dsl"},
    "dsl.against": {"dsl"},
    "dsl.audit": {"dsl"},
    "dsl.typed": {"dsl.diagnostic", "dsl.files"},
    "dsl.auditing": {"dsl"},
    "dsl.pytest_plugin": {"dsl.auditing"},
    "dsl.init": {"dsl"},
    "codegen": {"dsl.diagnostic", "dsl.globs", "dsl.nearest", "dsl.program", "dsl.trace"},
    "verify": {"codegen", "dsl", "npu_sim"},
    "lsp": {"dsl"},
    "cli": {"codegen", "dsl", "lsp", "verify"},
}
"""For each room, what it may import of the project, besides itself. The parts of `dsl` import downward only."""


def room(module: str) -> str:
    """The room a module lies in: `dsl.plan.sync` in `dsl.plan`, `codegen.emitter` in `codegen`."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "dsl" else parts[0]


def modules() -> Iterator[tuple[str, Path]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            if name not in FOLDERS:
                yield name, path


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """The modules that a file imports, anywhere in it, with the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            assert node.module is not None
            yield node.module, node.lineno
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def test_imports_go_one_way() -> None:
    wrong = []
    for name, path in modules():
        here = room(name)
        for imported, line in imports(path):
            if not imported.startswith("streamsched."):
                continue
            there = room(imported.removeprefix("streamsched."))
            known = here == there or there in ("dsl",) or there in ALLOWED[here] or there.split(".")[0] in ALLOWED[here]
            if there in ("dsl",) and here != "dsl.pipeline":
                known = True  # `from streamsched.dsl import x` names its module in the next entry
            if not known:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {here} imports {there}")
    assert wrong == []


def test_torch_is_imported_for_tracing_recording_and_verifying_only() -> None:
    found = {
        name
        for name, path in modules()
        for imported, _ in imports(path)
        if imported.split(".")[0] in ("torch", "torch_npu", "transformers")
    }
    assert found
    assert {room(name) for name in found} == {"dsl.trace", "dsl.record", "npu_sim", "verify"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_says_what_it_is_about(folder: str) -> None:
    silent = [str(p) for p in (ROOT / folder).rglob("*.py") if not ast.get_docstring(ast.parse(p.read_text()))]
    assert silent == []


def test_every_package_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = {path.parent.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    assert sorted(settings["packages"]) == sorted(f"streamsched.{'.'.join(folder.parts)}" for folder in folders)
    assert set(settings["package-dir"]) == {f"streamsched.{folder}" for folder in FOLDERS}
