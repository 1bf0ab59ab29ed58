"""The language server byte for byte: messages that are not as they should be, and how it ends."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny import EXAMPLES

MOE = EXAMPLES / "deepseek_moe" / "deepseek_moe.sched"
START = "import sys; from streamsched.cli.main import main; sys.exit(main(['lsp']))"
INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, NOT_INITIALIZED, NO_JSON = -32600, -32601, -32602, -32002, -32700


class Wire:
    """The editor's end of the server's standard streams."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([sys.executable, "-c", START], stdin=pipe, stdout=pipe, stderr=pipe)
        self._numbers = itertools.count(1)

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        """The answer: a result or an error."""
        number = next(self._numbers)
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while (message := self.receive()).get("id") != number or "method" in message:
            pass
        return message

    def error(self, method: str, params: Any) -> int:
        """The code of the error that a request is answered by."""
        return int(self.ask(method, params)["error"]["code"])

    def initialize(self, capabilities: dict[str, Any] | None = None) -> None:
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities or {}})
        self.notify("initialized", {})

    def open(self, path: Path, text: str) -> str:
        document = {"uri": path.as_uri(), "languageId": "sched", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return path.as_uri()

    def findings(self) -> list[dict[str, Any]]:
        """Those that are published next."""
        while (message := self.receive()).get("method") != "textDocument/publishDiagnostics":
            pass
        return list(message["params"]["diagnostics"])

    def send(self, message: Any) -> None:
        self.send_body(json.dumps(message).encode())

    def send_body(self, body: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server has ended"
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message


@pytest.fixture
def wire() -> Iterator[Wire]:
    started = Wire()
    late = threading.Timer(120, started.process.kill)  # a server that stands still fails its test
    late.start()
    yield started
    late.cancel()
    started.process.kill()
    started.process.wait()


def place(uri: str, line: int = 0, character: int = 0) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def errors_told(wire: Wire) -> str:
    """What stands on standard error after the server has ended."""
    return wire.process.communicate(timeout=60)[1].decode()


def test_every_request_is_answered(wire: Wire) -> None:
    assert wire.error("textDocument/hover", place("file:///a.sched")) == NOT_INITIALIZED
    wire.initialize()
    uri = wire.open(MOE, MOE.read_text(encoding="utf-8"))
    for params in ({}, None, place(uri, -1, -1), {"textDocument": 3}, []):
        assert wire.error("textDocument/hover", params) == INVALID_PARAMS
    assert wire.error("textDocument/hover", place("file:///not/open.sched")) == INVALID_PARAMS
    assert wire.error("textDocument/rename", {**place(uri), "newName": "x"}) == INVALID_PARAMS
    assert wire.error("no/such", {}) == NO_METHOD
    assert "result" in wire.ask("textDocument/hover", place(uri, 99, 99))
    assert wire.ask("shutdown", None)["result"] is None
    assert wire.error("textDocument/hover", place(uri)) == INVALID_REQUEST
    wire.notify("exit", None)
    assert errors_told(wire) == ""


def test_notifications_that_mean_nothing_are_passed_over(wire: Wire, tmp_path: Path) -> None:
    wire.notify("textDocument/didOpen", {"textDocument": 3})
    wire.notify("initialized", {})
    wire.initialize()
    closed = {"textDocument": {"uri": (tmp_path / "a b.sched").as_uri(), "version": 2}}
    changed = {**closed, "contentChanges": [{"text": "schedule a"}]}
    wire.open(tmp_path / "a b.sched", "schedule a\n")
    assert wire.findings() != []
    wire.notify("textDocument/didChange", changed)
    assert wire.findings() != []
    for params in (closed, closed, {}, None, []):
        wire.notify("textDocument/didClose", params)
    for params in (changed, closed, {}, None, []):
        wire.notify("textDocument/didChange", params)
    wire.notify("no/such", {})
    seen = {"params": {"uri": closed["textDocument"]["uri"], "diagnostics": []}}
    wire.send({"jsonrpc": "2.0", "id": 1000, "method": "no/such", "params": None})
    told = [wire.receive(), wire.receive()]
    assert told[0] == {"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", **seen}
    assert told[1]["id"] == 1000
    assert wire.ask("shutdown", None)["result"] is None
    wire.notify("exit", None)
    assert errors_told(wire) == ""


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"hello", NO_JSON),
        (b"\xff\xfe\xfd", NO_JSON),
        (b"[" * 100_000, NO_JSON),
        (b"[]", INVALID_REQUEST),
        (b"null", INVALID_REQUEST),
        (b"{}", INVALID_REQUEST),
        (b'{"id": 5}', INVALID_REQUEST),
    ],
)
def test_what_is_no_message_is_answered(body: bytes, code: int, wire: Wire) -> None:
    wire.initialize()
    wire.send_body(body)
    answer = wire.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert wire.error("no/such", {}) == NO_METHOD
    wire.ask("shutdown", None)
    wire.notify("exit", None)
    assert errors_told(wire) == ""


def test_a_server_is_initialized_once(wire: Wire) -> None:
    wire.initialize()
    uri = wire.open(MOE, MOE.read_text(encoding="utf-8"))
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    assert wire.error("initialize", params) == INVALID_REQUEST
    assert "result" in wire.ask("textDocument/hover", place(uri))


@pytest.mark.parametrize(("orderly", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_tells_whether_the_server_was_shut_down(orderly: bool, code: int, wire: Wire) -> None:
    wire.initialize()
    if orderly:
        wire.ask("shutdown", None)
    wire.notify("exit", None)
    assert wire.process.wait(60) == code


def test_a_long_chain_of_groups_is_checked(wire: Wire) -> None:
    wire.initialize()
    chain = "".join(f"group g{n} = g{n + 1}\n" for n in range(3000)) + 'group g3000 = module "gate"\n'
    uri = wire.open(MOE, MOE.read_text(encoding="utf-8") + chain)
    assert [finding["code"] for finding in wire.findings() if finding["severity"] < 3] == ["SYN202"]
    lines = MOE.read_text(encoding="utf-8").count("\n")
    assert "kernel" in wire.ask("textDocument/hover", place(uri, lines, 7))["result"]["contents"]["value"]


def test_refused_requests_do_not_fill_standard_error(wire: Wire) -> None:
    """An editor may never read it: a server that writes more than the pipe holds would stand still."""
    wire.initialize()
    uri = wire.open(MOE, MOE.read_text(encoding="utf-8"))
    for _ in range(100):
        assert wire.error("textDocument/rename", {**place(uri), "newName": "x"}) == INVALID_PARAMS


def test_the_server_ends_with_its_editor(wire: Wire) -> None:
    wire.initialize()
    text = MOE.read_text(encoding="utf-8")
    wire.open(MOE, text + "".join(f'group g{n} = module "gate"\n' for n in range(20_000)))
    time.sleep(0.5)  # the check is under way, and takes seconds
    assert wire.process.stdin is not None
    start = time.monotonic()
    wire.process.stdin.close()
    assert wire.process.wait(60) == 0
    assert time.monotonic() - start < 5


def test_a_trace_is_seen_where_the_editor_watches_no_files(wire: Wire, tmp_path: Path) -> None:
    wire.initialize()
    text = MOE.read_text(encoding="utf-8").replace('"shared_experts"', '"shared_expert"')
    wire.open(tmp_path / "deepseek_moe.sched", text)
    assert wire.findings() == []
    for name in ("model.py", "deepseek_moe.trace.json.gz"):
        (tmp_path / name).write_bytes((MOE.parent / name).read_bytes())
    assert "SEL101" in [finding["code"] for finding in wire.findings()]


def test_an_editor_that_can_is_asked_to_watch_files(wire: Wire) -> None:
    wire.initialize({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
    asked = wire.receive()
    assert asked["method"] == "client/registerCapability"
    (registration,) = asked["params"]["registrations"]
    assert registration["method"] == "workspace/didChangeWatchedFiles"
    patterns = [watcher["globPattern"] for watcher in registration["registerOptions"]["watchers"]]
    assert patterns == ["**/*.trace.json.gz", "**/pyproject.toml"]
    wire.send({"jsonrpc": "2.0", "id": asked["id"], "result": None})
    assert wire.error("no/such", {}) == NO_METHOD


def test_a_fault_of_the_settings_names_their_file(wire: Wire, tmp_path: Path) -> None:
    settings = tmp_path / "pyproject.toml"
    settings.write_text("[tool.streamsched]\nselct = 1\n")
    wire.initialize()
    wire.open(tmp_path / "a.sched", "schedule a\n")
    (finding,) = [finding for finding in wire.findings() if finding["code"].startswith("CFG")]
    assert "pyproject.toml:2: " in finding["message"]
    (related, *_) = finding["relatedInformation"]
    assert related["location"]["uri"] == settings.as_uri()
    assert related["location"]["range"]["start"]["line"] == 1
