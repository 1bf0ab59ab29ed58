"""The wheel in an environment of its own, once for all tests of a process."""

from __future__ import annotations

import pytest
from wheel_environment import Installed, install


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("wheel"))
