"""Builds the simulated CANN libraries with g++ into a cache folder, once for each version of sources and wheel."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
OPERATORS = HERE / "operators.txt"

# Everything is in libascendcl.so; the wheel only needs these to exist and to lead there.
EMPTY_LIBRARIES = (
    "libopapi.so",
    "libhccl.so",
    "libacl_op_compiler.so",
    "libge_runner.so",
    "libgraph.so",
    "libacl_tdt_channel.so",
    "libruntime.so",
)
FLAGS = ("-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-Wno-deprecated-declarations")


class BuildError(Exception):
    """The simulated NPU cannot be built here; the text says why and what to do."""


@dataclass(frozen=True)
class Wheel:
    """An installed torch_npu."""

    root: Path
    version: str

    def __post_init__(self) -> None:
        assert self.version

    @property
    def library(self) -> Path:
        """The library whose strings name the operators that the wheel can launch."""
        return self.root / "lib" / "libtorch_npu.so"

    @property
    def headers(self) -> tuple[Path, ...]:
        """Folders of CANN's own headers, as the wheel ships them."""
        base = self.root / "include"
        return base, base / "third_party" / "acl" / "inc", base / "third_party" / "hccl" / "inc"


def find_wheel() -> Wheel:
    """The installed torch_npu, found without importing it. Raises BuildError when there is none."""
    spec = importlib.util.find_spec("torch_npu")
    if spec is None or spec.origin is None:
        raise BuildError(
            "torch_npu is not installed in this environment: the simulated NPU runs the real wheel.\n"
            "Install it with: pip install torch_npu==2.13.0"
        )
    return Wheel(Path(spec.origin).parent, importlib.metadata.version("torch_npu"))


def build() -> Path:
    """The folder with the built libraries; builds them when they are not there yet. Raises BuildError."""
    wheel = find_wheel()
    _check_machine()
    folder = _cache_root() / _key(wheel)
    try:
        if (folder / "lib").is_dir():
            return folder
        compiler = _find_compiler()
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_suffix(".lock")):
            if not (folder / "lib").is_dir():
                _build_beside(folder, wheel, compiler)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        where = f"{error.filename}: " if error.filename else ""
        raise BuildError(
            f"its cache folder {folder.parent} cannot be used: {where}{why}\n"
            "Name a folder that can be written in the environment variable XDG_CACHE_HOME."
        ) from error
    return folder


def _check_machine() -> None:
    if platform.machine() != "x86_64":
        raise BuildError(
            f"the simulated NPU runs on x86_64 only, this machine is {platform.machine()}: "
            "reading the operators' arguments depends on the calling convention (src/trampoline_x86_64.S)"
        )


def _find_compiler() -> str:
    name = os.environ.get("CXX", "g++")
    compiler = shutil.which(name)
    if compiler is not None:
        return compiler
    if os.path.dirname(name):
        where = "is not executable" if os.path.exists(name) else "does not exist"
    else:
        where = "is not on PATH"
    raise BuildError(
        f"no C++ compiler: {name!r} {where}, and the simulated NPU is built with it on first use.\n"
        "Install one (Debian: apt-get install g++), or name it in the environment variable CXX."
    )


def _cache_root() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "streamsched" / "npu_sim"


def _inputs() -> list[Path]:
    return [
        *sorted(path for path in SOURCES.iterdir() if path.suffix in {".cpp", ".h", ".S"}),
        OPERATORS,
        Path(__file__),
    ]


def _key(wheel: Wheel) -> str:
    digest = hashlib.sha256(f"{wheel.version} {' '.join(FLAGS)}".encode())
    for path in _inputs():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_beside(folder: Path, wheel: Wheel, compiler: str) -> None:
    print(
        "Building the simulated NPU, once: half a minute on two idle cores, minutes on busy ones ...",
        file=sys.stderr,
        flush=True,
    )
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".building-") as scratch:
        work = Path(scratch) / "work"
        work.mkdir()
        result = Path(scratch) / "result"
        (result / "lib").mkdir(parents=True)
        # The wheel looks for these two folders under ASCEND_HOME_PATH, and wants ASCEND_OPP_PATH to exist.
        for name in ("runtime", "compiler", "opp"):
            (result / name).mkdir()
        generated = _generate(work, wheel)
        _compile(work, result / "lib", [*SOURCES.glob("*.cpp"), *SOURCES.glob("*.S"), *generated], wheel, compiler)
        result.rename(folder)


def operator_names(library: Path) -> tuple[str, ...]:
    """The aclnn operators of a libtorch_npu.so: the names that it looks up, each with its GetWorkspaceSize."""
    found = {match.decode() for match in re.findall(rb"(?<=\0)aclnn[A-Z]\w*(?=\0)", library.read_bytes())}
    suffix = "GetWorkspaceSize"
    return tuple(sorted(name for name in found if not name.endswith(suffix) and name + suffix in found))


def _generate(work: Path, wheel: Wheel) -> tuple[Path, ...]:
    names = operator_names(wheel.library)
    if not names:
        raise BuildError(f"{wheel.library} names no operators: is torch_npu {wheel.version} supported?")
    stubs = work / "stubs.S"
    stubs.write_text(
        "    .text\n" + "".join(_stub(number, name) for number, name in enumerate(names)) + _NO_EXECUTABLE_STACK
    )
    tables = work / "generated.cpp"
    listed = "".join(f'    "{name}",\n' for name in names)
    text = OPERATORS.read_text(encoding="utf-8")
    tables.write_text(
        '#include "generated.h"\n\nnamespace npusim {\n\n'
        f"const char* const kOperatorNames[] = {{\n{listed}}};\n\n"
        f'const char* const kOperatorTable = R"table({text})table";\n\n'
        "}  // namespace npusim\n"
    )
    return stubs, tables


_COMMON_HEADERS = (
    "algorithm", "cmath", "cstdint", "functional", "map", "memory", "mutex", "random", "sstream", "string", "variant",
    "vector", "acl/acl.h", "acl/acl_op_compiler.h",
)  # fmt: skip
_NO_EXECUTABLE_STACK = '    .section .note.GNU-stack,"",@progbits\n'


def _stub(number: int, name: str) -> str:
    return (
        f"    .globl {name}GetWorkspaceSize\n{name}GetWorkspaceSize:\n"
        f"    movl ${number}, %r11d\n    jmp npusim_prepare_entry\n"
        f"    .globl {name}\n{name}:\n    movl ${number}, %r8d\n    jmp npusim_launch@PLT\n"
    )


def _compile(work: Path, target: Path, sources: list[Path], wheel: Wheel, compiler: str) -> None:
    include = [*(f"-I{folder}" for folder in wheel.headers), f"-I{SOURCES}"]
    # Most of the time would go into reading the same headers again for each file.
    prelude = work / "prelude.h"
    prelude.write_text("".join(f"#include <{name}>\n" for name in _COMMON_HEADERS))
    _run([compiler, *FLAGS, *include, "-x", "c++-header", str(prelude), "-o", f"{prelude}.gch"])

    def compile_one(source: Path) -> Path:
        output = work / (source.name + ".o")
        common = ["-include", str(prelude)] if source.suffix == ".cpp" else []
        _run([compiler, *FLAGS, *include, *common, "-c", str(source), "-o", str(output)])
        return output

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, sources))
    main = target / "libascendcl.so"
    _run([compiler, "-shared", "-Wl,-soname,libascendcl.so", "-o", str(main), *map(str, objects)])
    for name in EMPTY_LIBRARIES:
        command = [compiler, "-shared", f"-Wl,-soname,{name}", "-Wl,--no-as-needed", "-o", str(target / name)]
        _run([*command, "-x", "c", "/dev/null", f"-L{target}", "-lascendcl"])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"building the simulated NPU failed:\n{' '.join(command)}\n{done.stderr}")


def wheel_problem() -> str | None:
    """Why nothing can run on the simulated NPU in this environment, or None. Builds nothing."""
    try:
        wheel = find_wheel()
        _check_machine()
        if not os.path.isdir(_cache_root() / _key(wheel) / "lib"):
            _find_compiler()
    except BuildError as error:
        return str(error)
    return None
