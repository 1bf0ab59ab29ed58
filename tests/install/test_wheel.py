"""The wheel, installed alone into an empty virtual environment: everything but tracing works there, without torch."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest
from wheel_environment import PACKAGES, ROOT, Installed

DATA = {".json", ".ini", ".lark", ".tables", ".jinja", ".typed", ".cpp", ".h", ".S", ".txt", ".md"}
EXAMPLE = ROOT / "examples" / "multi_stream"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The example without its generated file, away from the checkout."""
    for path in EXAMPLE.iterdir():
        if path.suffix in (".sched", ".gz") or path.name == "model.py":
            shutil.copy(path, tmp_path)
    return tmp_path


def test_grammar_templates_and_type_markers_are_in_the_wheel(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    data = [
        path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*") if path.suffix in DATA
    ]
    assert {path.suffix for path in data} == DATA
    assert [str(path) for path in data if f"streamsched/{path.as_posix()}" not in names] == []
    assert [name for name in names if name.startswith(("tests/", "examples/", "cli/", "dsl/"))] == []


def test_every_module_is_in_the_wheel(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    modules = [path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert [module for module in modules if f"streamsched/{module}" not in names] == []


def test_the_base_install_has_no_torch(installed: Installed, tmp_path: Path) -> None:
    code = "import importlib.util as u; print([n for n in ('torch', 'numpy', 'lark', 'jinja2') if u.find_spec(n)])"
    assert installed.run("python", "-c", code, cwd=tmp_path) == "['lark', 'jinja2']\n"


def test_version(installed: Installed, tmp_path: Path) -> None:
    assert installed.run("streamsched", "--version", cwd=tmp_path).startswith("streamsched 0.")


def test_lint_gen_and_fmt_work_from_a_saved_trace(installed: Installed, example: Path) -> None:
    assert installed.run("streamsched", "fmt", "--check", ".", cwd=example) == ""
    assert installed.run("streamsched", "lint", cwd=example) == ""
    assert installed.run("streamsched", "gen", "multi_stream.sched", "-o", "out.py", cwd=example) == ""
    shutil.copy(EXAMPLE / "multi_stream_scheduled.py", example / "committed.py")
    for file in ("out.py", "committed.py"):
        assert installed.run("streamsched", "gen", "multi_stream.sched", "--check", "-o", file, cwd=example) == ""


def test_without_trace_and_torch_lint_says_how_to_get_them(installed: Installed, example: Path) -> None:
    (example / "multi_stream.trace.json.gz").unlink()
    output = installed.run("streamsched", "lint", cwd=example, code=1)
    assert 'pip install "streamsched[trace]"' in output
    assert "Traceback" not in output
