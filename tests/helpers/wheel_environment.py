"""The wheel, installed alone into an empty virtual environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("cli", "codegen", "dsl", "grammars", "lsp", "npu_sim", "verify")


@dataclass(frozen=True)
class Installed:
    """The wheel and the environment that it is installed in."""

    wheel: Path
    bin: Path

    def run(self, *command: str, cwd: Path, code: int = 0) -> str:
        """Run a program of the environment in `cwd` and return its output."""
        program, *arguments = command
        done = subprocess.run([str(self.bin / program), *arguments], cwd=cwd, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stderr == "" or code
        return done.stdout

    def shell(self, script: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script of bash in `cwd`, with the programs of the environment before all others."""
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, **variables}
        command = ["bash", "-eo", "pipefail", "-c", script]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def install(folder: Path) -> Installed:
    """Build the wheel from a copy of the sources, and install it in a new environment; both are made in `folder`."""
    # From a copy: setuptools would put what lies in the checkout's build/ into the wheel.
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / "tree" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "tree")
    pip = ["-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, *pip, "wheel", "--no-deps", "-w", folder, folder / "tree"], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    subprocess.run([folder / "venv" / "bin" / "python", *pip, "install", wheel], check=True)
    return Installed(wheel, folder / "venv" / "bin")
