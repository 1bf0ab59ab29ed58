"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _no_cache_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What lint keeps lies in a folder of the test run's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMSCHED_CACHE_DIR", str(tmp_path_factory.mktemp("lint-cache")))
        yield
