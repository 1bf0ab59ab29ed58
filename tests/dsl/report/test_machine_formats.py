from __future__ import annotations

import json as stdlib_json

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.report import concise, json
from streamsched.dsl.report.report import Report


def test_concise_is_one_line_each(missing_edge: Diagnostic) -> None:
    line = "overlap.sched:5:1: error ORD101 `mm` on `side` reads `B` before it is written\n"
    assert concise.render(Report((missing_edge, missing_edge))) == line * 2
    assert concise.render(Report(())) == ""


def test_json_carries_the_whole_diagnostic(missing_edge: Diagnostic) -> None:
    def place(file: str, line: int, column: int, end_line: int, end_column: int) -> dict[str, object]:
        return {
            "file": file,
            "start": {"line": line, "column": column},
            "end": {"line": end_line, "column": end_column},
        }

    report = Report((missing_edge,))
    assert stdlib_json.loads(json.render(report)) == [
        {
            "code": "ORD101",
            "name": "missing-edge",
            "severity": "error",
            "message": "`mm` on `side` reads `B` before it is written",
            "location": place("overlap.sched", 5, 1, 5, 11),
            "related": [
                {"message": "`B` is written here, on `default`", "location": place("model.py", 2, 5, 5, 6)},
                {"message": "and read here, on `side`", "location": place("model.py", 6, 12, 6, 26)},
            ],
            "notes": ["nothing orders the two streams:\ndefault: B\nside: mm"],
            "help": "order them",
            "fix": {
                "message": "add the edge `b -> mm`",
                "safe": True,
                "edits": [{"location": place("overlap.sched", 6, 1, 6, 1), "text": "b -> mm\n"}],
            },
            "fingerprint": report.fingerprints[missing_edge],
        }
    ]


def test_json_of_nothing_is_an_empty_list() -> None:
    assert stdlib_json.loads(json.render(Report(()))) == []
