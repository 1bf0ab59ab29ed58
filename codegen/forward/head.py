"""How a generated forward begins: its `def`, the guard, and the function that the guard asks."""

from __future__ import annotations

from streamsched.codegen.guards.check import Check
from streamsched.codegen.pretty.statement import pretty, pretty_def, pretty_if
from streamsched.dsl.trace.model import Parameter, ParameterKind

GIVEN = "_given"
"""The function of a generated file that leaves out what holds its default."""

_PREFIXES = {ParameterKind.VAR_POSITIONAL: "*", ParameterKind.VAR_KEYWORD: "**"}


def guarded_def(parameters: tuple[Parameter, ...], schedule: str) -> list[str]:
    """The `def` of forward(), which hands a call unlike the traced one to the forward that was bound before."""
    given = [_given(parameter) for parameter in parameters]
    before = f'return self.scheduled_before["{schedule}"]({", ".join(_handed_on(parameters))})'
    return [
        *pretty_def("forward", _declared(parameters)),
        *pretty_if(f"_mismatch({', '.join(('self', *given))})", 1),
        *pretty(before, 2),
    ]


def leaves_defaults_out(parameters: tuple[Parameter, ...]) -> bool:
    """Whether what holds its default is not handed on. With **kwargs, a decorator around the forward that was bound
    before may rename what is given by name, and must not find both names.
    """
    return bool(_optional(parameters))


def mismatch_def(parameters: tuple[Parameter, ...], checks: tuple[Check, ...]) -> list[str]:
    """The function that holds a call against the traced one."""
    calls = [f"{check.by}({check.what!r}, {check.found}, {check.traced})" for check in checks]
    return [
        *pretty_def("_mismatch", _declared(parameters)),
        '    """In words, the first difference of a call from the traced one; "" if none."""',
        "    try:",
        *pretty(f"differs = {' or '.join(calls)}", 2),
        "    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:",
        '        differs = f"what was traced is missing: {error!r}"',
        "    if differs and self.scheduled_strict == SCHEDULE:",
        '        raise ValueError(f"{SCHEDULE}: {differs}")',
        "    return differs",
    ]


def _optional(parameters: tuple[Parameter, ...]) -> list[Parameter]:
    """The parameters that are handed on by name, and only where they do not hold their defaults."""
    kinds = {parameter.kind for parameter in parameters}
    if ParameterKind.VAR_KEYWORD not in kinds:
        return []
    named = {ParameterKind.KEYWORD_ONLY}
    if ParameterKind.VAR_POSITIONAL not in kinds:  # else what stands before *args may have to be given by its place
        named.add(ParameterKind.POSITIONAL_OR_KEYWORD)
    return [parameter for parameter in parameters if parameter.default and parameter.kind in named]


def _handed_on(parameters: tuple[Parameter, ...]) -> list[str]:
    """The arguments for the forward that was bound before."""
    optional = _optional(parameters)
    given = [_given(parameter) for parameter in parameters if parameter not in optional]
    if optional:
        pairs = ", ".join(f"{parameter.name}=({parameter.name}, {parameter.default})" for parameter in optional)
        given.insert(-1, f"**{GIVEN}({pairs})")
    return given


def _given(parameter: Parameter) -> str:
    """A parameter as it is passed on to a function of the same signature."""
    if parameter.kind is ParameterKind.KEYWORD_ONLY:
        return f"{parameter.name}={parameter.name}"
    return f"{_PREFIXES.get(parameter.kind, '')}{parameter.name}"


def _declared(parameters: tuple[Parameter, ...]) -> tuple[str, ...]:
    """The parameters of forward() as its `def` has them, `self` included."""
    positional_only = [p for p in parameters if p.kind is ParameterKind.POSITIONAL_ONLY]
    found = ["self"]
    starred = False
    for parameter in parameters:
        if parameter.kind is ParameterKind.KEYWORD_ONLY and not starred:
            found.append("*")
            starred = True
        starred = starred or parameter.kind is ParameterKind.VAR_POSITIONAL
        default = f"={parameter.default}" if parameter.default else ""
        found.append(f"{_PREFIXES.get(parameter.kind, '')}{parameter.name}{default}")
        if positional_only and parameter is positional_only[-1]:
            found.append("/")
    return tuple(found)
