"""Every rule by its code, for those who explain, list or test them."""

from __future__ import annotations

from typing import Any

from streamsched.dsl.check.registry import RULES as CHECK_RULES
from streamsched.dsl.config.rules import RULES as CONFIG_RULES
from streamsched.dsl.lint.suppress_rules import RULES as SUPPRESS_RULES
from streamsched.dsl.plan.device import RULES as DEVICE_RULES
from streamsched.dsl.plan.rules import RULES as PLAN_RULES
from streamsched.dsl.record.edge_rules import RULES as EDGE_RULES
from streamsched.dsl.record.rules import RULES as RECORD_RULES
from streamsched.dsl.record.run_rules import RULES as RUN_RULES
from streamsched.dsl.rule import Rule
from streamsched.dsl.syntax.rules import RULES as SYNTAX_RULES
from streamsched.dsl.trace.chance_rules import RULES as CHANCE_RULES
from streamsched.dsl.trace.collective_rules import RULES as COLLECTIVE_RULES
from streamsched.dsl.trace.dim_rules import RULES as DIM_RULES
from streamsched.dsl.trace.dtype_rules import RULES as DTYPE_RULES
from streamsched.dsl.trace.leaf_rules import RULES as LEAF_RULES
from streamsched.dsl.trace.loss_rules import RULES as LOSS_RULES
from streamsched.dsl.trace.model_rules import RULES as MODEL_RULES
from streamsched.dsl.trace.refusal_rules import RULES as REFUSAL_RULES
from streamsched.dsl.trace.saved_rules import RULES as SAVED_RULES
from streamsched.dsl.trace.scope_rules import RULES as SCOPE_RULES


def _by_code() -> dict[str, Rule[..., Any]]:
    rules: tuple[Rule[..., Any], ...] = (
        *SYNTAX_RULES,
        *MODEL_RULES,
        *REFUSAL_RULES,
        *SAVED_RULES,
        *LOSS_RULES,
        *CHANCE_RULES,
        *COLLECTIVE_RULES,
        *DIM_RULES,
        *DTYPE_RULES,
        *LEAF_RULES,
        *SCOPE_RULES,
        *PLAN_RULES,
        *DEVICE_RULES,
        *CHECK_RULES,
        *RECORD_RULES,
        *RUN_RULES,
        *EDGE_RULES,
        *CONFIG_RULES,
        *SUPPRESS_RULES,
    )
    found = {rule.code: rule for rule in sorted(rules, key=lambda rule: rule.code)}
    assert len(found) == len(rules), "two rules have one code"
    assert len({rule.name for rule in rules}) == len(rules), "two rules have one name"
    return found


ALL = _by_code()


def find(text: str) -> Rule[..., Any] | None:
    """The rule with that code or that name, in any case; None if there is none."""
    wanted = text.strip().lower()
    return next((rule for rule in ALL.values() if wanted in (rule.code.lower(), rule.name)), None)
