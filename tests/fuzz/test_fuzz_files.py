"""Files beside a schedule, each nearly as it should be: said to be wrong, or read, and never a traceback."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from damage import as_bytes, documents, texts
from fuzzing import fuzz
from hypothesis import strategies as st
from tiny import EXAMPLES

from streamsched.codegen.emitter import generate
from streamsched.dsl.config.find import find_config
from streamsched.dsl.devices.ini import NoDeviceError, parse
from streamsched.dsl.diagnostic import Span
from streamsched.dsl.files import ReadError, read_schedule
from streamsched.dsl.lint.baseline import baseline_of, read_baseline
from streamsched.dsl.lint.cache import recall, remember
from streamsched.dsl.lint.linting import lint
from streamsched.dsl.lint.suppress import in_python
from streamsched.dsl.lint.told import Told
from streamsched.dsl.pipeline import load_file
from streamsched.dsl.rules import ALL
from streamsched.dsl.trace.store import load

SPAN = Span("a.sched", 1, 1, 1, 9)
TRACED = {path: path.with_suffix(".trace.json.gz") for path in sorted(EXAMPLES.glob("*/*.sched"))}
TABLE = """\
[tool.streamsched]
select = ["ALL"]
ignore = ["PRF", "ORD104"]
exclude = ["build/*"]
device = "ascend910b3"
target = "npu"
sync = "auto"

[tool.streamsched.per-file-ignores]
"a/**" = ["ORD101"]

[tool.streamsched.severity]
MEM101 = "error"
"""
DEVICE = """\
[version]
SoC_version=Ascend910B3
[SoCInfo]
ai_core_cnt=20
cube_core_cnt=20
vector_core_cnt=40
normal_stream_num=1984
[AICoreSpec]
cube_freq=1800
[AICoreMemoryRates]
ddr_rate=32
"""
PYTHON = '''\
import torch


class Model(torch.nn.Module):
    @torch.no_grad()  # streamsched: ignore[CAP101, ORD101] why
    def forward(self, x):
        # streamsched: ignore[MEM101]
        y = f(
            x,  # streamsched: ignore
        )
        match y:
            case [1]:  # streamsched: ignor[ORD101] nearly
                return """
# streamsched: ignore[ORD102] in a string
"""
'''


def test_traces(tmp_path: Path) -> None:
    """What is loaded can be planned, checked and generated from."""
    path = tmp_path / "a.trace.json.gz"
    files = [read_schedule(str(schedule)) for schedule in TRACED]
    bases = [json.loads(gzip.decompress(TRACED[Path(file.path)].read_bytes())) for file in files]

    def check(case: tuple[int, Any]) -> None:
        number, document = case
        path.write_bytes(gzip.compress(as_bytes(document), 1))
        loaded = load_file(replace(files[number], trace_path=str(path)))
        assert loaded.trace is not None or loaded.failed
        if loaded.program is not None and not loaded.failed:
            generate(loaded.program, loaded.program.target)

    each = [st.tuples(st.just(number), documents([document])) for number, document in enumerate(bases)]
    fuzz("trace", check, st.one_of(each), examples=300)


def test_bytes_of_traces(tmp_path: Path) -> None:
    path = tmp_path / "a.trace.json.gz"
    whole = min(TRACED.values(), key=lambda file: file.stat().st_size).read_bytes()
    text = gzip.decompress(whole)
    place = st.integers(0, len(whole))

    def check(begin: int, end: int, other: bytes, packed: bool) -> None:
        data = text if packed else whole
        data = data[:begin] + other + data[end:]
        path.write_bytes(gzip.compress(data, 1) if packed else data)
        loaded = load(path, SPAN)
        assert (loaded.trace is None) == bool(loaded.diagnostics)

    fuzz("trace file", check, place, place, st.binary(max_size=8), st.booleans(), examples=300)


def test_settings(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"

    def check(text: str) -> None:
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        config, found = find_config(str(tmp_path), ALL.keys)
        for diagnostic in found:
            assert diagnostic.span.line >= 1
        assert config is not None

    fuzz("config", check, texts([TABLE]), examples=300)


def test_ignores_in_python() -> None:
    def check(text: str) -> None:
        for ignore in in_python(text, "a.py"):
            assert 1 <= ignore.first <= ignore.last

    fuzz("ignores", check, texts([PYTHON]), examples=400)


def test_baselines(tmp_path: Path) -> None:
    told = _told(tmp_path)
    file = tmp_path / "baseline.json"
    right = json.loads(baseline_of([told], str(file)))
    assert right["findings"]

    def check(document: Any) -> None:
        file.write_bytes(as_bytes(document))
        try:
            read = read_baseline(str(file))
        except ReadError:
            return
        read.without_known(told)
        read.mended([told], [str(tmp_path / "a.sched")])

    fuzz("baseline", check, documents([right]), examples=300)


def test_cached_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMSCHED_CACHE_DIR", str(tmp_path / "cache"))
    told = _told(tmp_path)
    remember("key", told, ())
    file = tmp_path / "cache" / "key.json"
    right = json.loads(file.read_text())
    assert recall("key") == told

    def check(document: Any) -> None:
        file.write_bytes(as_bytes(document))
        kept = recall("key")
        assert kept is None or all(isinstance(diagnostic.message, str) for diagnostic in kept.found)

    fuzz("cache", check, documents([right]), examples=300)


def _told(folder: Path) -> Told:
    """What is told of a schedule in `folder` with faults of several kinds."""
    path = folder / "a.sched"
    path.write_text('schedule a\nmodel "m.py:b"\nstrem x\ngroup g = op "mm"\ng -> h\n')
    return replace(lint(read_schedule(str(path))).told, stops=frozenset())


def test_devices() -> None:
    def check(text: str) -> None:
        try:
            device = parse(text)
        except NoDeviceError:
            return
        assert device.aic > 0

    fuzz("device", check, texts([DEVICE]), examples=400)
