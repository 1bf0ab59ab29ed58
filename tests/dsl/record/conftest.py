"""Auditing code that a test writes, and telling its findings by the lines that they speak of."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audits import Auditor, Finding

from streamsched.dsl.audit import Audited, audit
from streamsched.dsl.diagnostic import Severity

pytest.importorskip("torch")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Audited]:
    """Audit `m.py`, whose text is `source`."""
    monkeypatch.chdir(tmp_path)

    def audit_source(source: str, *inputs: str, attribute: str = "M", target: str = "cuda", **options: Any) -> Audited:
        Path("m.py").write_text(textwrap.dedent(source))
        return audit(f"m.py:{attribute}", inputs, target=target, **options)

    return audit_source


@pytest.fixture
def found(run: Callable[..., Audited]) -> Auditor:
    """The findings of an audit, remarks left out unless `remarks`."""

    def find(source: str, *inputs: str, remarks: bool = False, **options: Any) -> list[Finding]:
        audited = run(source, *inputs, **options)
        lines = textwrap.dedent(source).splitlines()
        assert audited.program is not None, audited.diagnostics
        return [
            Finding(
                each.code,
                each.message,
                lines[each.span.line - 1].strip(),
                tuple(lines[place.span.line - 1].strip() for place in each.related),
                each.help or "",
            )
            for each in audited.diagnostics
            if remarks or each.severity is not Severity.INFO
        ]

    return find
