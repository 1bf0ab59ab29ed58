"""Which module calls stay calls in the generated forward, and which are unfolded by one level."""

from __future__ import annotations

import re

import pytest
from forwards import forward_lines
from modelled import Planned

from streamsched.codegen.emitter import generate
from streamsched.dsl.program.steps import Program

MLP = """
class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.act = nn.Linear(8, 16), nn.Linear(16, 8), nn.SiLU()

    def forward(self, x):
        return self.down(self.act(self.up(x)))
"""


def body(program: Program, target: str = "npu") -> list[str]:
    """The statements of the forward, without indentation, comments, syncs and the check of the call."""
    lines = forward_lines(generate(program, target))
    return [line for line in lines if line[0] != "#" and "scheduled_" not in line]


def test_a_module_called_twice_is_judged_call_by_call(planned: Planned) -> None:
    program = planned(
        MLP
        + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = Mlp()

    def forward(self, x):
        first = self.mlp(x)
        second = self.mlp(first)
        return second
""",
        """
input x: f32[4, 8]
sync auto
stream side
module "mlp@1" & op "silu" on side
""",
    )
    lines = body(program)
    assert "first = self.mlp(x)" in lines
    assert "second = self.mlp(first)" not in lines
    assert [line for line in lines if "self.mlp.up(first)" in line] == ["up = self.mlp.up(first)"]
    assert any(line.endswith("self.mlp.act(up)") for line in lines)


def test_a_module_that_returns_a_tuple_is_unpacked(planned: Planned) -> None:
    program = planned(
        """
class Pair(nn.Module):
    def forward(self, x):
        return x + 1, (x * 2, x * 3)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.pair = Pair()

    def forward(self, x):
        a, (b, c) = self.pair(x)
        return a + c
""",
        "input x: f32[4]\n",
    )
    assert body(program) == ["a, (_, c) = self.pair(x)", "return a + c"]


def test_a_module_that_returns_a_dict_gives_its_one_value(planned: Planned) -> None:
    program = planned(
        """
class Named(nn.Module):
    def forward(self, x):
        return {"a": x + 1, "b": x * 2}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.named = Named()

    def forward(self, x):
        out = self.named(x)
        return torch.relu(out["b"])
""",
        "input x: f32[4]\n",
    )
    assert body(program)[0].endswith('self.named(x)["b"]')


def test_a_module_that_returns_a_view_or_its_argument(planned: Planned) -> None:
    program = planned(
        """
class View(nn.Module):
    def forward(self, x):
        y = x * 2
        return y.t()

class Same(nn.Module):
    def forward(self, x):
        x.add_(1)
        return x

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.view, self.same = View(), Same()

    def forward(self, x):
        turned = self.view(x)
        same = self.same(turned)
        return torch.relu(same)
""",
        "input x: f32[4, 4]\n",
    )
    assert body(program) == ["turned = self.view(x)", "self.same(turned)", "return F.relu(turned)"]


def test_an_effect_on_an_argument_keeps_the_callers_name(planned: Planned) -> None:
    program = planned(
        """
class Fill(nn.Module):
    def forward(self, x, out):
        out.copy_(x * 2)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fill = Fill()

    def forward(self, x):
        out = torch.zeros_like(x)
        self.fill(x, out)
        return out + 1
""",
        "input x: f32[4]\n",
    )
    assert body(program) == ["out = torch.zeros_like(x)", "self.fill(x, out)", "return out + 1"]


BLOCK = (
    MLP
    + """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.mix, self.norm2 = nn.LayerNorm(8), Mlp(), nn.LayerNorm(8)
        self.gate, self.mlp = nn.Linear(8, 8), Mlp()

    def forward(self, x):
        h = self.norm1(x)
        h = self.mix(h)
        h = self.norm2(h)
        g = self.gate(h)
        return self.mlp(g)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(), Block()])
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b-b": nn.Linear(8, 2)})
        self.tail = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        t = self.tail(x)
        return self.heads["a"](t), self.heads["b-b"](x)
"""
)


def test_nested_modules_are_printed_as_their_outermost_call(planned: Planned) -> None:
    program = planned(BLOCK, "input x: f32[4, 8]\n")
    lines = body(program)
    assert lines[:2] == ["x = self.layers[0](x)", "x = self.layers[1](x)"]
    assert "t = self.tail(x)" in lines
    assert any('self.heads["a"](t)' in line for line in lines)
    assert any('self.heads["b-b"](x)' in line for line in lines)


def test_five_nested_calls_stay_five_lines(planned: Planned) -> None:
    program = planned(
        BLOCK,
        """
input x: f32[4, 8]
sync auto
stream side
module "layers.1.gate" on side
""",
    )
    lines = body(program)
    assert lines[0] == "x = self.layers[0](x)"
    calls = [line.partition(" = ")[2] or line for line in lines if "self.layers[1]." in line]
    called = [re.match(r"(?:return )?self\.layers\[1\]\.(\w+)\(\w+\)$", call) for call in calls]
    assert [match and match[1] for match in called] == ["norm1", "mix", "norm2", "gate", "mlp"]


@pytest.mark.parametrize("kind", ["wait", "record"])
def test_a_sync_in_the_middle_of_a_call_unfolds_it_by_one_level(planned: Planned, kind: str) -> None:
    edge = 'value "s" -> module "tail.2"' if kind == "wait" else 'module "tail.0" -> value "s"'
    program = planned(
        MLP
        + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = Mlp()
        self.tail = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), Mlp())

    def forward(self, x):
        s = torch.relu(x)
        h = self.head(x)
        t = self.tail(h)
        return s, t
""",
        f"""
input x: f32[4, 8]
sync auto
stream side
value "s" on side
{edge}
""",
    )
    lines = body(program)
    assert "h = self.head(x)" in lines
    tail = [line.partition(" = ")[2] for line in lines if "self.tail" in line]
    assert [re.sub(r"\(.*", "", call) for call in tail] == ["self.tail[0]", "self.tail[1]", "self.tail[2]"]


KEEPS = """
class Keeps(nn.Module):
    def forward(self, x):
        self.kept = x * 2
        return self.kept + 1

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.keeps = Keeps()

    def forward(self, x):
        y = self.keeps(x)
        other = torch.relu(self.keeps.kept)
        return y + other
"""


@pytest.mark.parametrize("placed", ["", 'stream s\nvalue "other" on s\n'])
def test_a_module_that_hands_out_a_tensor_by_another_way_is_unfolded(planned: Planned, placed: str) -> None:
    lines = body(planned(KEEPS, f"input x: f32[4]\nsync auto\n{placed}"))
    assert not any("self.keeps" in line for line in lines), lines


def test_a_module_that_takes_in_a_tensor_by_another_way_is_unfolded(planned: Planned) -> None:
    program = planned(
        """
class Reads(nn.Module):
    def forward(self, x):
        return x * self.given

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.reads = Reads()

    def forward(self, x):
        self.reads.given = x + 1
        return torch.relu(self.reads(x))
""",
        "input x: f32[4]\n",
    )
    assert not any("self.reads" in line for line in body(program))


def test_arguments_that_cannot_be_printed_unfold_the_call(planned: Planned) -> None:
    program = planned(
        """
class Options:
    scale = 2.0

class Scale(nn.Module):
    def forward(self, x, options):
        return x * options.scale

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def forward(self, x):
        y = self.scale(x, Options())
        return torch.relu(y)
""",
        "input x: f32[4]\n",
    )
    assert body(program)[0] in ("y = x * 2.0", "mul = x * 2.0")


def test_a_call_is_not_printed_before_what_it_is_given(planned: Planned) -> None:
    """The module never uses `late`, which is issued after it."""
    program = planned(
        """
class First(nn.Module):
    def forward(self, x, unused):
        return x * 2

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = First()

    def forward(self, x):
        late = torch.relu(x)
        y = self.first(x, late)
        return y + late
""",
        """
input x: f32[4]
sync auto
value "y" before value "late"
""",
    )
    lines = body(program)
    assert not any("self.first" in line for line in lines)
    assert lines.index("late = F.relu(x)") == 1, lines


def test_a_module_that_launches_nothing_is_not_called(planned: Planned) -> None:
    program = planned(
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.drop, self.flat = nn.Linear(8, 8), nn.Dropout(0.5), nn.Flatten(0)

    def forward(self, x):
        dropped = self.drop(self.l1(x))
        return dropped + 1
""",
        "input x: f32[4, 8]\n",
    )
    assert body(program) == ["dropped = self.l1(x)", "return dropped + 1"]


def test_a_module_with_a_hook_of_its_own_is_unfolded(planned: Planned) -> None:
    program = planned(
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(8, 8)
        self.l1.register_forward_hook(lambda module, given, made: made * 2)

    def forward(self, x):
        return self.l1(x) + 1
""",
        "input x: f32[4, 8]\n",
    )
    assert not any("self.l1(" in line for line in body(program))
