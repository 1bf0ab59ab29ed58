"""Generated forwards of the examples, bound to their models in a folder, and the words that ask for them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tiny import EXAMPLES, NEEDS_NPU, SCOPED, SIZES, loaded

from streamsched.codegen.emitter import generate
from streamsched.dsl.init import Wanted

BUILD = """
import generated
import model

def build():
    return generated.apply(model.{attribute}(), strict=True)
"""


def write_generated(name: str, target: str, folder: Path) -> str:
    """An example's model with its generated forward bound, as `build.py:build`; the text of the generated file."""
    found = loaded(name, target)
    assert found.program is not None
    shutil.copy(Path(found.file.base, "model.py"), folder)
    (folder / "build.py").write_text(BUILD.format(attribute=words(name)["model"].partition(":")[2]))
    own = Path(found.file.base, "fakes.py")
    (folder / "fakes.py").write_text(own.read_text() if name in NEEDS_NPU else "")
    text = generate(found.program, target)
    (folder / "generated.py").write_text(text)
    return text


def words(name: str) -> dict[str, str]:
    """What an example in its tiny size is traced by: `model`, `scope`, `class`, `fakes`, `inputs from`,
    `input` in lines."""
    own = next(EXAMPLES.glob(f"*/{name}.sched")).read_text().splitlines()
    tiny = (SIZES | SCOPED)[name]
    found = {"model": next(text for text in (*tiny, *own) if text.startswith("model")).split('"')[1]}
    for text in own:
        if scope := re.fullmatch(r'scope "(.*?)"(?: class (\w+))?', text):
            found |= {"scope": scope[1], "class": scope[2] or ""}
    inputs = [text for text in tiny if text.startswith("input")] or [t for t in own if t.startswith("input")]
    found["fakes"] = "fakes.py" if name in NEEDS_NPU else ""
    found["inputs from"] = next((text.split('"')[1] for text in inputs if text.startswith("inputs from")), "")
    found["input"] = "\n".join(text.removeprefix("input ") for text in inputs if text.startswith("input "))
    return found


def wanted(name: str, **others: object) -> Wanted:
    """A request for a schedule of an example's model, or of what `others` names instead."""
    said = words(name)
    given: dict[str, object] = {
        "model": said["model"],
        "inputs": tuple(filter(None, said["input"].splitlines())),
        "inputs_from": said["inputs from"],
        "scope": said.get("scope", ""),
        "scope_class": said.get("class", ""),
        "world": 4 if name == "tp_moe" else 0,
        "fakes": said["fakes"],
    }
    return Wanted(**(given | others))  # type: ignore[arg-type]
