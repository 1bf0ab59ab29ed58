"""Building the libraries, and the environment that finds them."""

import os
from pathlib import Path

import pytest

from streamsched.npu_sim import build, control, environment, orders


@pytest.mark.usefixtures("no_compiler")
def test_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "find_wheel", lambda: build.Wheel(Path("/nowhere"), "0"))
    with pytest.raises(build.BuildError, match=r"'g\+\+' is not on PATH.*\n.*apt-get install g\+\+"):
        build.build()


def test_missing_wheel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(build.BuildError, match="pip install torch_npu"):
        build.build()


@pytest.mark.usefixtures("simulated")
def test_built_once() -> None:
    folder = build.build()
    before = (folder / "lib" / "libascendcl.so").stat().st_mtime_ns
    assert build.build() == folder
    assert (folder / "lib" / "libascendcl.so").stat().st_mtime_ns == before
    assert all((folder / "lib" / name).is_file() for name in build.EMPTY_LIBRARIES)


@pytest.mark.usefixtures("simulated")
def test_a_build_needs_no_compiler_once_it_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = build.build()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "/nope/g++")
    assert build.build() == folder and build.wheel_problem() is None


@pytest.mark.usefixtures("no_compiler")
def test_a_compiler_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "find_wheel", lambda: build.Wheel(Path("/nowhere"), "0"))
    monkeypatch.setenv("CXX", "/nope/g++")
    with pytest.raises(build.BuildError, match=r"'/nope/g\+\+' does not exist"):
        build.build()


def test_a_cache_folder_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build, "find_wheel", lambda: build.Wheel(Path("/nowhere"), "0"))
    monkeypatch.setenv("CXX", "/bin/true")
    (tmp_path / "file").touch()
    for folder in (str(tmp_path / "file"), "/proc"):
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        with pytest.raises(build.BuildError, match=rf"its cache folder {folder}.* cannot be used.*\n.*XDG_CACHE_HOME"):
            build.build()


@pytest.mark.usefixtures("simulated")
def test_environment_keeps_what_was_there() -> None:
    made = environment.environment({"LD_LIBRARY_PATH": "/opt/lib", "HOME": "/root"}, aic=20, aiv=40)
    library, rest = made["LD_LIBRARY_PATH"].split(os.pathsep)
    assert rest == "/opt/lib" and made["HOME"] == "/root" and made["NPUSIM_AIC"] == "20"
    assert (Path(library) / "libascendcl.so").is_file()
    assert (Path(made["ASCEND_HOME_PATH"]) / "runtime").is_dir()


def test_control_outside_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(environment.LIBRARY_VARIABLE, raising=False)
    with pytest.raises(control.NotSimulatedError, match=r"environment\.run"):
        control.set_order("serial")


@pytest.mark.parametrize("text", ["serial", "side_first", "side_last", "random:3", "before:12", "after:0"])
def test_order_is_written_as_it_is_read(text: str) -> None:
    assert str(orders.parse(text)) == text


@pytest.mark.parametrize("text", ["", "random", "serial:1", "before:x", "before:-1", "fastest"])
def test_no_such_order(text: str) -> None:
    with pytest.raises(ValueError, match="no stream order"):
        orders.parse(text)
