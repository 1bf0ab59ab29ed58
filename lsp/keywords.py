"""The words of the language: the form of each statement, and what it means in a sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Keyword:
    """A statement or a part of one. `form` is how it is written, `meaning` what it does."""

    form: str
    meaning: str


KEYWORDS = {
    "schedule": Keyword("schedule NAME", "Names the schedule; the first statement."),
    "model": Keyword('model "FILE-OR-PACKAGE:ATTR"', "What to trace: a module, or a callable that returns one."),
    "scope": Keyword(
        'scope "GLOB" [class NAME]', "The modules whose forward() is generated; without it, the whole model."
    ),
    "input": Keyword("input a, b: DTYPE[dims]", "Example inputs of the model; a dim that is a name is dynamic."),
    "inputs": Keyword('inputs from "FILE:FN"', "A function that returns the example inputs."),
    "leaf": Keyword('leaf "GLOB" [from "FILE:FN"]', "Modules that are traced as one op each."),
    "fakes": Keyword(
        'fakes "FILE-OR-PACKAGE"', "What registers fake implementations of ops, imported before the model."
    ),
    "target": Keyword("target NAME", "What code is generated for: npugraph_ex, npu, cuda or cpu."),
    "device": Keyword(
        'device NAME | device NAME { aic N, aiv N, ... } | device "FILE.ini"',
        "The device whose cores the checks count.",
    ),
    "mhz": Keyword("device NAME { mhz N }", "The clock of the device's cores."),
    "bandwidth": Keyword("device NAME { bandwidth N }", "How much its memory moves, in gigabytes per second."),
    "streams": Keyword("device NAME { streams N }", "How many streams its captured graphs have together."),
    "graphs": Keyword("graphs N", "How many captured graphs the process holds, which share the streams of graphs."),
    "batch": Keyword("batch SELECTOR [cores aic N, aiv N]", "Ops that start only when all their cores are free."),
    "collective": Keyword(
        "collective SELECTOR [cores aic N, aiv N]", "Ops that hold their cores while they wait for other ranks."
    ),
    "sync": Keyword(
        "sync explicit | auto", "Whether edges across streams must be declared, or are inferred and shown."
    ),
    "memory": Keyword("memory auto | record_stream | join", "How memory that crosses streams is protected."),
    "trace": Keyword("trace compiled | eager", "What the model is told when it asks whether it is being compiled."),
    "stream": Keyword("stream a, b { priority -1; cores aic N, aiv N }", "Declares streams."),
    "group": Keyword("group NAME = SELECTOR", "Gives a set of ops a name."),
    "on": Keyword("a, b on STREAM", "Places groups on a stream."),
    "before": Keyword("a before b", "The order in which the host issues; no sync."),
    "world": Keyword("world N", "How many ranks the collectives are traced with."),
    "cost": Keyword("cost GROUP = 120us", "How long a group takes, for predictions."),
    "module": Keyword('module "GLOB"', "Every op inside the module calls that match; a second call is `sub@1`."),
    "op": Keyword('op "GLOB"', "Every op whose operator matches: `mm`, `aten.mm`, `aten.mm.default`."),
    "value": Keyword('value "NAME"', "The ops of every statement of forward() that binds the name."),
    "node": Keyword('node "NAME"', "The op of that name in the trace."),
    "line": Keyword('line "model.py:31-40"', "The ops that are issued from those lines."),
    "priority": Keyword("priority INT", "The stream's priority; lower numbers come first."),
    "cores": Keyword("cores aic N, aiv N", "How many cube and vector cores the stream's ops may use."),
    "class": Keyword('scope "GLOB" class NAME', "Of the modules that match, those of this class."),
}
"""Every keyword that has a meaning of its own."""

STATEMENTS = (
    "schedule", "model", "scope", "input", "inputs", "leaf", "fakes", "target", "device", "sync", "memory", "trace",
    "stream", "group", "graphs", "batch",
    "collective", "world",
)  # fmt: skip
"""The words that begin a statement which is supported."""

SELECTORS = ("module", "op", "value", "node", "line")
"""The words that begin a selector."""
