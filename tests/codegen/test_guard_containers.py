"""The checks of containers and objects in *args and **kwargs, each traced and run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from modelled import HEAD

from streamsched.codegen.emitter import generate
from streamsched.dsl.pipeline import load
from streamsched.verify.generated import load_generated

MODEL = '''
from torch.utils import _pytree

class Options:
    """A container of the user's, such as a cache."""

    def __init__(self, **held):
        vars(self).update(held)

_pytree.register_pytree_node(
    Options,
    lambda options: (list(vars(options).values()), list(vars(options))),
    lambda values, names: Options(**dict(zip(names, values))),
    flatten_with_keys_fn=lambda options: (
        [(_pytree.GetAttrKey(name), value) for name, value in vars(options).items()], list(vars(options))
    ),
)

class Other(Options):
    pass

def tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))
    elif hasattr(value, "__dict__"):
        yield from tensors(vars(value))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, item=None, *args, **kwargs):
        out = self.left(x) + self.right(x)
        for tensor in tensors([item, args, kwargs]):
            out = out + tensor
        return out

def t(*sizes):
    return torch.ones(*sizes, 4)

def given(*args, **kwargs):
    return args, kwargs
'''

LAYERS = "Options(layers=[Options(keys=t(2), n=1), Options(keys=t(2), n=2)])"
CASES = {
    "a list": ("a=[t(), t()]", "a=[t(), t(2)]", 'kwargs["a"] is [(torch.float32, 4), (torch.float32, 2, 4)]'),
    "lists in a list": ("a=[[t()], [t()]]", "a=[[t()], [t(2)]]", 'kwargs["a"][:] is [[(torch.float32, 4)], [('),
    "ragged lists": ("a=[[t()], [t(), t()]]", "a=[[t()], [t()]]", 'kwargs["a"][:] is [['),
    "constants in lists": ("a=[[True, 1], [2, 3]]", "a=[[1, 1], [2, 3]]", 'kwargs["a"][:] is [[1, 1], [2, 3]]'),
    "a list in a dict": ('a={"b.c[0]": [t(), 2]}', 'a={"b.c[0]": [t(), 3]}', 'kwargs["a"]["b.c[0]"] is [('),
    "dicts in a list": ('a=[{"x": t()}, {"x": t()}]', 'a=[{"x": t()}, {"y": t()}]', 'kwargs["a"][:] is [{'),
    "numbers for keys": (
        "a={0: Options(keys=t()), 1: Options(keys=t())}",
        "a={0: Options(keys=t()), 1: Options(keys=t(2))}",
        'kwargs["a"][1].keys is',
    ),
    "numbers for keys in an object": (
        "a=Options(keys=t(), sizes={0: 5, 1: 6})",
        "a=Options(keys=t(), sizes={0: 5, 1: 7})",
        'kwargs["a"].sizes[1] is 7, traced with 6',
    ),
    "the layers of an object": (
        f"a={LAYERS}",
        f"a={LAYERS.replace('n=2', 'n=3')}",
        'kwargs["a"].layers[:].n is [1, 3]',
    ),
    "more layers": (
        f"a={LAYERS}",
        f"a={LAYERS.replace('])', ', Options(keys=t(2), n=2)])')}",
        'the class of kwargs["a"].layers[:] is',
    ),
    "layers in layers": (
        f"a=Options(parts=[{LAYERS}, {LAYERS}])",
        f"a=Options(parts=[{LAYERS}, {LAYERS.replace('n=2', 'n=3')}])",
        'kwargs["a"].parts[:].layers[1].n is [2, 3]',
    ),
    "an object without tensors": ("a=Options(n=1)", "a=Other(n=1)", "the class of kwargs[\"a\"] is 'Other'"),
    "objects without tensors": ("a=[Options(n=1)]", "a=[Other(n=1)]", "the class of kwargs[\"a\"][:] is ['Other']"),
    "keys that look like places": (
        f'a={{"layers[1]": {LAYERS}, "item": t()}}',
        f'a={{"layers[1]": {LAYERS.replace("n=2", "n=3")}, "item": t()}}',
        'kwargs["a"]["layers[1]"].layers[:].n is [1, 3]',
    ),
    "args": (f"None, {LAYERS}, {LAYERS}", f"None, {LAYERS}, {LAYERS.replace('n=2', 'n=3')}", "args[:].layers[1].n is"),
    "lists in args": (
        "None, [[t()], [t()]]",
        "None, [[t()], [t(2)]]",
        "args[:][1] is [[(",
    ),
    "dicts in args": (
        "None, {0: [t(), t()]}",
        "None, {0: [t(), t(2)]}",
        "args[:][0] is [[(",
    ),
    "a parameter called item": (f"[{LAYERS}]", f"[{LAYERS.replace('n=2', 'n=3')}]", "item[:].layers[1].n is [3]"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_traced_call_passes_its_own_checks_and_another_does_not(case: str, tmp_path: Path) -> None:
    traced, other, difference = CASES[case]
    inputs = (
        f"\ndef given(*args, **kwargs):\n    return args, kwargs\n\ndef inputs():\n    return given(t(1), {traced})\n"
    )
    (tmp_path / "model.py").write_text(HEAD + MODEL + inputs)
    head = 'schedule test\ntarget cpu\nmodel "model.py:Model"\ninputs from "model.py:inputs"\n'
    path = tmp_path / "test.sched"
    path.write_text(f'{head}sync auto\nstream side\nmodule "right" on side\n')
    loaded = load(str(path), target="cpu")
    assert not loaded.failed and loaded.program is not None, loaded.diagnostics
    file = load_generated(generate(loaded.program, "cpu"))
    space: dict[str, Any] = {}
    exec(HEAD + MODEL + inputs, space)
    original, scheduled = (space["Model"]().eval() for _ in range(2))
    scheduled.load_state_dict(original.state_dict())
    file["apply"](scheduled, strict=True)
    args, kwargs = space["inputs"]()
    assert torch.equal(scheduled(*args, **kwargs), original(*args, **kwargs))
    args, kwargs = eval(f"given(t(1), {other})", space)
    with pytest.raises(ValueError, match="test: ") as raised:
        scheduled(*args, **kwargs)
    assert difference in str(raised.value)
