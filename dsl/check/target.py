"""TGT: what a target rejects, drops or reorders.

The rules for a recorded forward read `Step.via`, in the words of `program.via`. Each page names the version of
torch_npu on which the hazard was seen; docs/targets.md lists them all.
"""

from __future__ import annotations

from streamsched.dsl.check import (
    target_calls,
    target_dropped,
    target_events,
    target_graphs,
    target_inputs,
    target_ops,
    target_outputs,
)

RULES = (
    *target_inputs.RULES,
    *target_calls.RULES,
    *target_graphs.RULES,
    *target_events.RULES,
    *target_dropped.RULES,
    *target_ops.RULES,
    *target_outputs.RULES,
)
