"""The environment in which a child process finds the simulated CANN libraries instead of real ones."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from streamsched.npu_sim.build import build

# Names the built library to `control`, in the child.
LIBRARY_VARIABLE = "NPUSIM_LIBRARY"


def environment(
    base: Mapping[str, str] | None = None, *, soc: str = "Ascend910B1", aic: int = 24, aiv: int = 48
) -> dict[str, str]:
    """Variables for a process that imports torch_npu; builds the libraries first where needed.

    `base` is what the rest is taken from, by default this process's own. `soc` is the name that the device reports,
    `aic` and `aiv` its numbers of cube and vector cores. Raises BuildError.
    """
    assert aic > 0 and aiv > 0
    home = build()
    library = home / "lib"
    variables = dict(os.environ if base is None else base)
    variables.update(
        # The autoload would import torch_npu inside `import torch`, before a program can choose.
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
        LD_LIBRARY_PATH=_prepend(library, variables.get("LD_LIBRARY_PATH")),
        ASCEND_HOME_PATH=str(home),
        ASCEND_OPP_PATH=str(home / "opp"),
        NPUSIM_SOC=soc,
        NPUSIM_AIC=str(aic),
        NPUSIM_AIV=str(aiv),
    )
    variables[LIBRARY_VARIABLE] = str(library / "libascendcl.so")
    return variables


def run(
    argv: Sequence[str],
    *,
    timeout: float | None = None,
    cwd: Path | None = None,
    capture: bool = True,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command under the simulated NPU; `env` adds variables. Raises BuildError, subprocess.TimeoutExpired."""
    variables = {**environment(), **(env or {})}
    return subprocess.run(
        list(argv), env=variables, cwd=cwd, timeout=timeout, capture_output=capture, text=True, check=False
    )


def has_npu() -> bool:
    """Whether this machine has a real NPU, as its driver shows."""
    return Path("/dev/davinci_manager").exists()


def inside() -> bool:
    """Whether this process was started with `environment()`."""
    return LIBRARY_VARIABLE in os.environ


def _prepend(folder: Path, path: str | None) -> str:
    return f"{folder}{os.pathsep}{path}" if path else str(folder)
