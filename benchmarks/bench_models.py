"""DeepSeek-V3 as released, 61 layers, on the meta device: tracing against a bare export, and what follows from a trace.

    python benchmarks/bench_models.py

Tracing is compared in processor time, import and building of the model included on both sides: the two take long, and
wall time would mostly tell what else the machine did. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from table import TORCH, Row, alternating, median_seconds, ratio, report, run, streamsched

RUNS = 3
KIB = 1 << 10

MODEL = '''
import torch
from transformers import AutoModelForCausalLM, DeepseekV3Config


def build():
    """DeepSeek-V3 with the experts as batched products, and without a cache."""
    config = DeepseekV3Config(use_cache=False, experts_implementation="batched_mm")
    return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
'''

EXPORT = """
import torch
from model import build

with torch.device("meta"), torch.no_grad():
    model = build().eval()
    torch.export.export(model, (), {"input_ids": torch.empty(1, 128, dtype=torch.int64)}, strict=False)
"""

HEAD = """
model "model.py:build"
input input_ids: i64[1, 128]
target npu
"""

WHOLE = f"""schedule whole
{HEAD}
stream shared

group expert = module "model.layers.*.mlp.shared_experts"

expert on shared
sync auto
"""

SCOPED = f"""schedule moe
{HEAD}
scope "model.layers.*.mlp" class DeepseekV3MoE

stream shared

group expert = module "shared_experts"

expert on shared
sync auto
"""


def write_project(folder: Path) -> None:
    """The model, a bare export of it, and two schedules."""
    texts = {"model.py": MODEL, "bare_export.py": EXPORT, "whole.sched": WHOLE, "moe.sched": SCOPED}
    for name, text in texts.items():
        (folder / name).write_text(text.lstrip("\n"))


def measure(folder: Path) -> list[Row]:
    """All measurements, in a scratch folder."""
    write_project(folder)
    whole, scoped = str(folder / "whole.sched"), str(folder / "moe.sched")
    tracing = alternating(
        {"export": [sys.executable, str(folder / "bare_export.py")], "trace": streamsched("trace", whole)}, RUNS
    )
    export, trace = (statistics.median(each.processor for each in tracing[name]) for name in ("export", "trace"))
    size = (folder / "whole.trace.json.gz").stat().st_size
    out = str(folder / "out.py")
    commands = {
        "torch": TORCH,
        "lint": streamsched("lint", "--no-cache", whole),
        "gen": streamsched("gen", whole, "-o", out),
    }
    for command in commands.values():
        run(command)
    seconds = {name: median_seconds(those) for name, those in alternating(commands, 5).items()}
    run(streamsched("trace", scoped))
    run(streamsched("gen", scoped, "-o", out))
    lines = len(Path(out).read_text().splitlines())
    return [
        Row("bare torch.export, processor time", "", f"{export:.1f} s"),
        Row("streamsched trace, processor time", "", f"{trace:.1f} s"),
        ratio("  against the bare export", trace / export, 1.3),
        Row("saved trace", "<= 400 KiB", f"{size / KIB:.0f} KiB", size <= 400 * KIB),
        Row("python -c 'import torch'", "", f"{seconds['torch']:.2f} s"),
        ratio("cold lint against import torch", seconds["lint"] / seconds["torch"], 0.6),
        ratio("cold gen against import torch", seconds["gen"] / seconds["torch"], 0.6),
        Row("generated file, scoped to the MoE layers", "<= 150 lines", f"{lines} lines", lines <= 150),
    ]


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder))
    return report(f"DeepSeek-V3, 61 layers, 128 tokens; tracing: median of {RUNS} alternating runs", rows)


if __name__ == "__main__":
    sys.exit(main())
