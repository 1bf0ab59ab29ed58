"""Forwards generated for models with KV caches: the same outputs, and the same left in the cache, call after call."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from streamsched.codegen.emitter import generate
from streamsched.dsl.pipeline import Loaded, load

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

MODEL = """
import torch
from transformers import CONFIG, DynamicCache, StaticCache
from transformers.models.FAMILY.modeling_FAMILY import CLASS, LAYER

config = CONFIG(
    num_hidden_layers=2, hidden_size=64, intermediate_size=64, num_attention_heads=4, num_key_value_heads=2,
    head_dim=16, vocab_size=128, MORE
)
config._attn_implementation = "sdpa"
if hasattr(config, "num_local_experts"):
    config._experts_implementation = "grouped_mm"

dtype = torch.DTYPE

def build():
    torch.manual_seed(0)
    return CLASS(config).to(dtype)

def layer():
    torch.manual_seed(0)
    made = LAYER(config, 0).to(dtype)
    for parameter in made.parameters():  # some are memory that only a whole model initialises
        torch.nn.init.normal_(parameter, std=0.1)
    return made

def static():
    cache = StaticCache(config, max_cache_len=16)
    cache.early_initialization(1, 2, 16, dtype, torch.zeros(1).device)
    return cache

def empty():
    return DynamicCache(config=config)

def dynamic(length=5):
    cache = empty()
    for index in range(2):
        cache.update(*torch.rand(2, 1, 2, length, 16, dtype=dtype), index)
    return cache

def ids(length, cache):
    return {"input_ids": torch.randint(0, 128, (1, length)), "cache": cache}

def hidden(length, cache):
    angles = tuple(torch.rand(2, 1, length, 16, dtype=dtype))
    return {"hidden_states": torch.rand(1, length, 64, dtype=dtype), "position_embeddings": angles, "cache": cache}
"""

FAMILIES = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", "LlamaDecoderLayer", ""),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", "Qwen3DecoderLayer", ""),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", "MixtralDecoderLayer", "num_local_experts=4"),
}

DTYPES = {"mixtral": "bfloat16"}  # grouped_mm knows no other dtype

KINDS = {"static": ("static()", 1), "dynamic": ("dynamic()", 1), "prefill": ("empty()", 6)}
"""For each kind of call: the cache, and the number of tokens."""

PLACED = 'stream side\nsync auto\nmodule "**.k_proj" on side\n'
SCHEDULES = {"folded": "", "unfolded": PLACED, "scoped": f'scope "model.layers.*"\n{PLACED}'}


@pytest.fixture
def family(tmp_path: Path) -> Callable[[str], None]:
    """Write `model.py` for a family of models."""

    def write(name: str) -> None:
        config, cls, layer, more = FAMILIES[name]
        text = MODEL.replace("CONFIG", config).replace("CLASS", cls).replace("LAYER", layer)
        text = text.replace("DTYPE", DTYPES.get(name, "float32"))
        (tmp_path / "model.py").write_text(text.replace("FAMILY", name).replace("MORE", more))

    return write


def scheduled(folder: Path, root: str, kind: str, statements: str) -> Loaded:
    """A schedule over a call of `kind`: of the whole model (`build`) or one layer of it (`layer`)."""
    cache, length = KINDS[kind]
    arguments = "ids" if root == "build" else "hidden"
    with (folder / "model.py").open("a") as file:
        file.write(f"\ndef inputs():\n    return {arguments}({length}, {cache})\n")
    path = folder / "test.sched"
    head = f'schedule test\ntarget cpu\nmodel "model.py:{root}"\ninputs from "model.py:inputs"\n'
    path.write_text(head + statements)
    return load(str(path), target="cpu")


def state(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """All that can be reached in an object, as data that compares by content."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), str(value.device), tuple(value.shape), value.tolist()
    if isinstance(value, list | tuple):
        return type(value).__name__, [state(item, seen) for item in value]
    if isinstance(value, dict):
        return type(value).__name__, {key: state(item, seen) for key, item in value.items()}
    if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value) and id(value) not in seen:
        return type(value).__name__, {key: state(item, (*seen, id(value))) for key, item in vars(value).items()}
    return repr(value)


@pytest.fixture
def imported(tmp_path: Path) -> Iterator[Callable[[], ModuleType]]:
    def run() -> ModuleType:
        spec = importlib.util.spec_from_file_location("cached_model", tmp_path / "model.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["cached_model"] = module
        spec.loader.exec_module(module)
        return module

    yield run
    sys.modules.pop("cached_model", None)


def assert_same_calls(module: ModuleType, root: str, kind: str, text: str) -> None:
    """Hold three calls of the generated forward against the original's; a static cache goes on from call to call."""
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    original, generated = (getattr(module, root)().eval() for _ in range(2))
    namespace["apply"](generated, strict=True)
    caches: list[Any] = [None, None]
    for call in range(3):
        found = []
        for number, model in enumerate((original, generated)):
            torch.manual_seed(call)
            given = module.inputs()
            if kind == "static" and call:
                given["cache"] = caches[number]
            caches[number] = given["cache"]
            with torch.no_grad():
                result = model(**given)
            assert not hasattr(result, "cache") or result.cache is given["cache"]
            found.append((state(result), state(given)))
        assert found[0] == found[1], call


FEW = [
    *(("llama", root, kind, how) for root in ("layer", "build") for kind in KINDS for how in ("folded", "unfolded")),
    ("llama", "build", "dynamic", "scoped"),
    ("llama", "build", "prefill", "scoped"),
    ("qwen3", "build", "static", "unfolded"),
    ("qwen3", "layer", "prefill", "unfolded"),
    ("mixtral", "build", "dynamic", "unfolded"),
    ("mixtral", "layer", "static", "unfolded"),
]


@pytest.mark.parametrize(("name", "root", "kind", "schedule"), FEW)
def test_calls_with_a_cache(
    family: Callable[[str], None],
    imported: Callable[[], ModuleType],
    tmp_path: Path,
    name: str,
    root: str,
    kind: str,
    schedule: str,
) -> None:
    family(name)
    statements = SCHEDULES[schedule]
    loaded = scheduled(tmp_path, root, kind, statements)
    assert not loaded.failed and loaded.program is not None, loaded.diagnostics
    text = generate(loaded.program, "cpu")
    assert_same_calls(imported(), root, kind, text)
    printed = [line for line in text.splitlines() if line.strip().startswith("cache.") and ".keys = " in line]
    layers = 2 if (root, schedule) == ("build", "unfolded") else 1
    assert len(printed) == (layers if statements and kind != "static" else 0)
