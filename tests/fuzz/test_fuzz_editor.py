"""An editor that types what is nearly right, and asks at any place: answers, and never a traceback."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from dataclasses import replace
from pathlib import Path

from damage import as_read, texts
from fuzzing import fuzz
from hypothesis import strategies as st
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.client import LanguageClient
from pygls.workspace import PositionCodec
from tiny import EXAMPLES

from streamsched.dsl.files import ScheduleFile, read_schedule
from streamsched.lsp import answers
from streamsched.lsp.completion import complete
from streamsched.lsp.definition import definitions
from streamsched.lsp.document import Traces, read
from streamsched.lsp.findings import findings
from streamsched.lsp.hover import hover
from streamsched.lsp.outline import outline
from streamsched.lsp.places import Lines
from streamsched.lsp.rename import CannotRenameError, references, renamable, rename
from streamsched.lsp.session import Open

FILES = [read_schedule(str(path)) for path in sorted(EXAMPLES.glob("*/*.sched"))]
NAMES = ("expert", "x", "default", "on", "é", "", "a b")
START = "import sys; from streamsched.cli.main import main; sys.exit(main(['lsp']))"
MOE = EXAMPLES / "deepseek_moe" / "deepseek_moe.sched"

position = st.builds(types.Position, st.integers(0, 40), st.integers(0, 90))


def test_features() -> None:
    """Every feature at several places of a text, over the trace of the right schedule."""
    traces = Traces()

    def check(file: ScheduleFile, places: list[types.Position], name: str) -> None:
        document = read(file, traces)
        lines = Lines(tuple(line + "\n" for line in file.text.split("\n")), PositionCodec())
        opened = Open(Path(file.path).as_uri(), 1, document, lines, "\n")
        found = findings(document, lambda: False)
        assert found is not None
        for each in found:
            answers.finding(each, opened)
        for entry in outline(document.schedule):
            answers.symbol(entry, lines)
        for at in places:
            place = lines.place(at)
            hover(document, place, found)
            complete(document, opened.offset(at))
            answers.quick_fixes(opened, found, types.Range(at, at))
            for span in (*definitions(document, place), *references(document, place)):
                answers.location(span, opened)
            with contextlib.suppress(CannotRenameError):
                assert rename(document, place, name) and renamable(document, place)

    edited = [st.builds(replace, st.just(file), text=texts([file.text]).map(as_read)) for file in FILES]
    fuzz("editor", check, st.one_of(edited), st.lists(position, max_size=8), st.sampled_from(NAMES), examples=200)


def test_messages() -> None:
    """The server itself: texts that change in part, and requests in between."""
    change = st.tuples(position, position, texts(["", "expert -> merge\n", 'group g = module "'], 2).map(as_read))
    with asyncio.Runner() as runner:
        client = runner.run(_start())

        def check(text: str, changes: list[tuple[types.Position, types.Position, str]]) -> None:
            runner.run(asyncio.wait_for(_talk(client, text, changes), 120))

        whole = texts([MOE.read_text(encoding="utf-8")]).map(as_read)
        fuzz("messages", check, whole, st.lists(change, max_size=4), examples=10)
        runner.run(_stop(client))


async def _start() -> LanguageClient:
    client = LanguageClient("test", "1")
    await client.start_io(sys.executable, "-c", START)
    await client.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities()))
    client.initialized(types.InitializedParams())
    return client


async def _stop(client: LanguageClient) -> None:
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()


async def _talk(client: LanguageClient, text: str, changes: list[tuple[types.Position, types.Position, str]]) -> None:
    uri = MOE.as_uri()
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "sched", 1, text)))
    document = types.TextDocumentIdentifier(uri)
    await _ask(client, document, types.Position(3, 4))
    for version, (one, other, typed) in enumerate(changes, start=2):
        part = types.TextDocumentContentChangePartial(types.Range(min(one, other), max(one, other)), typed)
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(version, uri), [part])
        )
        await _ask(client, document, one)
    client.text_document_did_close(types.DidCloseTextDocumentParams(document))


async def _ask(client: LanguageClient, document: types.TextDocumentIdentifier, at: types.Position) -> None:
    """Every request; an error of the server's is raised here, but for names that cannot be."""
    await client.text_document_hover_async(types.HoverParams(document, at))
    await client.text_document_completion_async(types.CompletionParams(document, at))
    await client.text_document_definition_async(types.DefinitionParams(document, at))
    await client.text_document_references_async(types.ReferenceParams(types.ReferenceContext(True), document, at))
    await client.text_document_prepare_rename_async(types.PrepareRenameParams(document, at))
    with contextlib.suppress(JsonRpcInvalidParams):
        await client.text_document_rename_async(types.RenameParams(document, at, "x"))
    await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    options = types.FormattingOptions(4, True)
    await client.text_document_formatting_async(types.DocumentFormattingParams(document, options))
    context = types.CodeActionContext([])
    await client.text_document_code_action_async(types.CodeActionParams(document, types.Range(at, at), context))
