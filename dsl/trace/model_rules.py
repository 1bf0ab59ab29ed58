"""The rules about models that cannot be found, made or called."""

from __future__ import annotations

from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.rule import Rule, rule


@rule("TRC101", "model-not-found", Severity.ERROR)
def model_not_found(span: Span, message: str, help: str | None) -> Diagnostic:
    """The model that a schedule names does not exist.

    Reports a `model` or `inputs from` statement whose file, package or attribute cannot be found.

    Why is this bad: without the model there is nothing to trace and nothing to schedule.

    Example:
        model "modle.py:build"      # the file is called model.py

    Use instead:
        model "model.py:build"
    """
    return model_not_found.diagnostic(span, message, help=help)


@rule("TRC102", "model-raises", Severity.ERROR)
def model_raises(span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...]) -> Diagnostic:
    """The user's code raises while the model or its example inputs are made.

    Reports an exception that leaves the import of the model's file, the callable that builds the model, or the
    function that makes its example inputs. `--verbose` shows Python's own traceback.

    Why is this bad: no model, no trace. Note that models are built under `torch.device("meta")`: tensors have shapes
    and no data, so code that looks at data while building fails.

    Example:
        def build():
            return Model(torch.load("weights.pt"))      # the file is not there on this machine

    Use instead:
        def build():
            return Model()      # tracing needs no weights
    """
    return model_raises.diagnostic(span, message, related=related, notes=notes)


@rule("TRC103", "model-exits", Severity.ERROR)
def model_exits(span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...]) -> Diagnostic:
    """The user's code ends the process while the model or its example inputs are made.

    Reports a `sys.exit()` in the model's file, in the callable that builds the model, or in its forward().

    Why is this bad: a script that parses its command line or runs a benchmark on import cannot be imported.

    Example:
        args = parser.parse_args()      # exits: these are streamsched's own arguments
        model = Model(args.size)

    Use instead:
        def build():
            return Model(size=64)

        if __name__ == "__main__":
            main(parser.parse_args())
    """
    return model_exits.diagnostic(
        span, message, related=related, notes=notes, help='put what runs the script under `if __name__ == "__main__":`'
    )


@rule("TRC104", "not-a-module", Severity.ERROR)
def not_a_module(span: Span, message: str) -> Diagnostic:
    """The `model` statement leads to something else than a torch.nn.Module.

    Reports an attribute that is neither a Module, nor a Module class, nor a callable without required arguments that
    returns one.

    Why is this bad: only a Module has a forward() to trace.

    Example:
        model "model.py:config"

    Use instead:
        model "model.py:build"      # def build(): return Model(config)
    """
    return not_a_module.diagnostic(
        span, message, help="name a torch.nn.Module, its class, or a function without arguments that returns one"
    )


@rule("TRC105", "wrong-inputs", Severity.ERROR)
def wrong_inputs(span: Span, message: str, related: tuple[Related, ...], help: str | None) -> Diagnostic:
    """The example inputs do not fit the parameters of forward().

    Reports an `input` named like no parameter of the model's forward(), a parameter without a default that gets no
    input, an unknown dtype, and an `inputs from` function that returns neither a tuple, nor a dict, nor a pair of both.

    Why is this bad: the model cannot be called, so it cannot be traced.

    Example:
        input token_ids: i64[1, 64]     # def forward(self, ids, mask=None)

    Use instead:
        input ids: i64[1, 64]
    """
    return wrong_inputs.diagnostic(span, message, related=related, help=help)


@rule("TRC110", "torch-missing", Severity.ERROR)
def torch_missing(span: Span, message: str) -> Diagnostic:
    """Tracing needs torch, and there is none.

    Reports a schedule without a saved trace where torch cannot be imported.

    Why is this bad: everything else works without torch, but a trace has to come from somewhere.

    Example:
        pip install streamsched
        streamsched trace model.sched

    Use instead:
        pip install "streamsched[trace]"
        streamsched trace model.sched
    """
    return torch_missing.diagnostic(
        span,
        message,
        help='install it with `pip install "streamsched[trace]"`, or get a saved trace from where torch is',
    )


RULES: tuple[Rule[Any, Any], ...] = (
    model_not_found,
    model_raises,
    model_exits,
    not_a_module,
    wrong_inputs,
    torch_missing,
)
