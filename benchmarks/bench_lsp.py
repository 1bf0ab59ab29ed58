"""Does the editor keep up? The language server on a 500-line schedule over 10,000 ops, against a cold lint of the file.

    python benchmarks/bench_lsp.py

Hover, completion and definition are timed from the request to the answer; findings from the last of a few keystrokes
to the message that brings them. Medians; exits with 1 if a target is missed.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from synthetic import write_project
from table import Row, median_seconds, ratio, report, run, streamsched

OPS, LINES = 10_000, 500
TIMES = 15
KEYSTROKES = 5


class Client:
    """An editor, reduced to its half of the protocol."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._numbers = itertools.count(1)

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> tuple[Any, float]:
        """The answer to a request, and how many seconds it took."""
        number = next(self._numbers)
        start = time.perf_counter()
        self._send({"id": number, "method": method, "params": params})
        answer = self.wait(lambda message: message.get("id") == number)
        assert "result" in answer, answer
        return answer["result"], time.perf_counter() - start

    def wait(self, wanted: Any) -> Any:
        """The next message that is wanted."""
        while True:
            message = self._receive(self.process.stdout)
            if wanted(message):
                return message

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    @staticmethod
    def _receive(stream: IO[bytes] | None) -> Any:
        assert stream is not None
        length = 0
        while (line := stream.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(stream.read(length))


def write_schedule(folder: Path) -> Path:
    """A schedule of `LINES` lines over about `OPS` ops, with its saved trace."""
    path = write_project(folder, OPS)
    text = path.read_text()
    groups = (LINES - text.count("\n")) // 2
    size = OPS // 10 // groups
    parts = [f'group part_{n} = module "layers.{{{n * size}..{(n + 1) * size - 1}}}.right"' for n in range(groups)]
    edges = [f"part_{n} -> part_{n + 1}" for n in range(groups - 1)]
    path.write_text(text + "\n".join([*parts, *edges]) + "\n")
    return path


def requests(path: Path, text: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """The requests that are timed: about a selector and about a word that is being typed."""
    document = {"uri": path.as_uri()}
    lines = text.split("\n")
    line = next(number for number, content in enumerate(lines) if content.startswith("group right"))
    place = {"textDocument": document, "position": {"line": line, "character": lines[line].index("layers") + 2}}
    return {
        "hover": ("textDocument/hover", place),
        "completion": ("textDocument/completion", place),
        "definition": ("textDocument/definition", place),
    }


def measure(folder: Path) -> list[Row]:
    """All measurements, in a scratch folder."""
    path = write_schedule(folder)
    text = path.read_text()
    lint = streamsched("lint", "--no-cache", str(path))
    run(lint)
    cold = median_seconds(run(lint) for _ in range(5))
    client = Client(streamsched("lsp"))
    client.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    client.notify("initialized", {})
    document = {"uri": path.as_uri(), "languageId": "sched", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.wait(_findings)
    rows = [Row(f"cold lint, {text.count(chr(10))} lines, {OPS:,} ops", "", f"{cold:.2f} s")]
    for what, (method, params) in requests(path, text).items():
        answers = [client.ask(method, params) for _ in range(TIMES)]
        assert all(answer for answer, _ in answers) or what == "definition", what
        seconds = statistics.median(elapsed for _, elapsed in answers)
        rows.append(ratio(f"  {what} against it", seconds / cold, 0.1))
    version = itertools.count(2)
    waits = [_typed(client, path, text, version) for _ in range(TIMES)]
    rows.append(ratio("  findings after the last keystroke", statistics.median(waits) / cold, 0.5))
    client.ask("shutdown", None)
    client.notify("exit", None)
    return rows


def _typed(client: Client, path: Path, text: str, versions: Any) -> float:
    """Seconds from the last of a few keystrokes to the findings in the text that they made."""
    for number in range(1, KEYSTROKES + 1):
        version = next(versions)
        change = {
            "textDocument": {"uri": path.as_uri(), "version": version},
            "contentChanges": [{"text": text + "#" * number}],
        }
        start = time.perf_counter()
        client.notify("textDocument/didChange", change)
    client.wait(lambda message: _findings(message) and message["params"].get("version") == version)
    return time.perf_counter() - start


def _findings(message: Any) -> bool:
    return message.get("method") == "textDocument/publishDiagnostics"


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder))
    return report(f"medians of {TIMES}; one server, {KEYSTROKES} keystrokes in a row", rows)


if __name__ == "__main__":
    sys.exit(main())
