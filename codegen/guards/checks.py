"""What a generated forward checks before it runs: that a call is like the one that was traced.

Each check compares one part of the call, or of the module, with what the trace fixed. Alike parts of a list (the keys
of every layer of a cache) are one check. What is reached through an object is checked after the object's class. Where a
check raises all the same, for want of a key, say, the call is another, too.
"""

from __future__ import annotations

from streamsched.codegen.forward.folding import Folding
from streamsched.codegen.guards.arguments import Arguments, given
from streamsched.codegen.guards.check import Check, is_constant
from streamsched.codegen.guards.group_sizes import group_sizes
from streamsched.codegen.guards.lists import grouped
from streamsched.codegen.guards.modules import OWN, changing, constants, dtypes, flags
from streamsched.codegen.guards.plain import plain
from streamsched.codegen.guards.tensors import is_within
from streamsched.dsl.trace.model import Trace


def checks(trace: Trace, folding: Folding, device: str) -> tuple[Check, ...]:
    """What a call must have in common with the traced one: the modes, the modules, the arguments in their order, and
    the dtypes of the parameters. `device` is the type of device whose autocast would cast.
    """
    arguments = Arguments(trace)
    for name, argument in given(trace):
        arguments.add(name, argument)
    arguments.add_inputs()
    for assignment in trace.assignments:
        if not assignment.target.startswith(OWN):
            arguments.add_replaced(assignment)
    return (
        Check("self.training", "self.training", "False", ""),  # the head of the file says both modes in words
        Check("torch.autocast", f'torch.is_autocast_enabled("{device}")', "False", ""),
        *plain(trace, folding),
        *dict.fromkeys((*flags(trace, folding), *constants(trace, folding), *changing(trace, folding))),
        *grouped(trace, arguments.found),
        *map(is_within, trace.dims),
        *(is_constant(expression, str(size)) for expression, size in group_sizes(trace, folding).items()),
        *dtypes(trace),
    )
