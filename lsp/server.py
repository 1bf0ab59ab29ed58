"""The server: which request is answered by which feature, and when a schedule is checked."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams, JsonRpcParseError
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.syntax.formatter import format_schedule
from streamsched.lsp import answers
from streamsched.lsp.completion import complete
from streamsched.lsp.definition import definitions
from streamsched.lsp.hover import hover
from streamsched.lsp.outline import outline
from streamsched.lsp.protocol import UNREADABLE, Protocol, log_faults
from streamsched.lsp.rename import CannotRenameError, references, renamable, rename
from streamsched.lsp.session import Open, Session
from streamsched.lsp.watching import POLL, registration, watches

DELAY = 0.02
"""How long, in seconds, the typing must rest before a schedule is checked."""

TRIGGERS = ['"', ".", ":", "{", "[", " "]
"""The characters behind which an editor asks for completions by itself."""


class Server(LanguageServer):
    """A language server with its session, and the checks that are under way."""

    protocol: Protocol

    def __init__(self, version: str) -> None:
        sync = types.TextDocumentSyncKind.Incremental
        super().__init__("streamsched", version, text_document_sync_kind=sync, protocol_cls=Protocol)
        self.session = Session()
        self._worker = ThreadPoolExecutor(1, "check")
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._watch: asyncio.Task[None] | None = None

    def opened(self, document: types.TextDocumentIdentifier) -> Open:
        """The open schedule that a request is about. Raises `JsonRpcInvalidParams` where it is not open."""
        text: TextDocument = self.workspace.get_text_document(document.uri)
        if text.version is None:
            raise JsonRpcInvalidParams(f"{document.uri} is not open")
        if self.session.outdated(text.uri):
            self.recheck(text.uri)
        return self.session.open(text)

    def watch(self) -> None:
        """See what changes beside the open schedules: by the editor, or by looking where it does not watch files."""
        if watches(self.client_capabilities):
            self.client_register_capability(registration())
        else:
            self._watch = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(POLL)
            for uri in list(self.session.opened):
                if self.session.outdated(uri):
                    self.recheck(uri)

    def recheck(self, uri: str) -> None:
        """Check a schedule soon; a check of an older text of it that is under way is given up."""
        pending = self._pending.pop(uri, None)
        if pending is not None:
            pending.cancel()
        self._pending[uri] = asyncio.get_running_loop().create_task(self._check(uri))

    def recheck_all(self) -> None:
        """Check every open schedule soon: what lies beside them has changed."""
        for uri in list(self.session.opened):
            self.session.opened.pop(uri, None)
            self.recheck(uri)

    def forget(self, uri: str) -> None:
        """Take away what is shown of a schedule that was closed."""
        pending = self._pending.pop(uri, None)
        if pending is not None:
            pending.cancel()
        self.session.close(uri)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Answer what could not be read; a fault of the server's own is shown to the user."""
        if isinstance(error, UNREADABLE):
            self.protocol.refuse_unknown(JsonRpcParseError("this is no JSON, or it nests too deeply"))
        else:
            super().report_server_error(error, source)

    async def _check(self, uri: str) -> None:
        await asyncio.sleep(DELAY)
        text = self.workspace.get_text_document(uri)
        version = text.version

        def work() -> tuple[Open, tuple[Diagnostic, ...]] | None:
            if text.version != version:
                return None
            opened = self.session.open(text)
            found = self.session.check(opened, lambda: text.version != opened.version)
            return (opened, found) if found is not None else None

        done = await asyncio.get_running_loop().run_in_executor(self._worker, work)
        if done is not None and done[0].version == (text.version or 0):
            opened, found = done
            shown = [answers.finding(each, opened) for each in found]
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, shown, opened.version))


def serve(version: str) -> None:
    """Speak with an editor over standard input and output until it ends, and end the process with it."""
    log_faults()
    server = make_server(version)
    server.start_io()
    os._exit(1 if server.protocol.ended_early else 0)  # at once: a check that is under way has nobody to tell


def make_server(version: str) -> Server:
    """A server with all features."""
    server = Server(version)
    _follow_texts(server)
    _answer_places(server)
    _answer_texts(server)
    return server


def _follow_texts(server: Server) -> None:
    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        server.watch()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        server.recheck(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        server.recheck(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.recheck_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        server.recheck_all()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)


def _answer_places(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def on_hover(params: types.HoverParams) -> types.Hover | None:
        opened = server.opened(params.text_document)
        found = hover(opened.document, opened.lines.place(params.position), server.session.known(opened))
        if found is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, found.text)
        return types.Hover(content, opened.lines.range(found.span))

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=TRIGGERS))
    def on_completion(params: types.CompletionParams) -> types.CompletionList:
        opened = server.opened(params.text_document)
        place = opened.lines.place(params.position)
        offers, length = complete(opened.document, opened.offset(params.position))
        start = opened.lines.position(place.line, max(place.column - length, 1))
        replaced = types.Range(start, params.position)
        items = [answers.completion_item(offer, replaced, order) for order, offer in enumerate(offers)]
        return types.CompletionList(is_incomplete=True, items=items)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def on_definition(params: types.DefinitionParams) -> list[types.Location]:
        opened = server.opened(params.text_document)
        spans = definitions(opened.document, opened.lines.place(params.position))
        return [place for span in spans if (place := answers.location(span, opened)) is not None]

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def on_references(params: types.ReferenceParams) -> list[types.Location]:
        opened = server.opened(params.text_document)
        declaration = params.context.include_declaration
        spans = references(opened.document, opened.lines.place(params.position), declaration)
        return [place for span in spans if (place := answers.location(span, opened)) is not None]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def on_prepare_rename(params: types.PrepareRenameParams) -> types.Range | None:
        opened = server.opened(params.text_document)
        span = renamable(opened.document, opened.lines.place(params.position))
        return opened.lines.range(span) if span is not None else None

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def on_rename(params: types.RenameParams) -> types.WorkspaceEdit:
        opened = server.opened(params.text_document)
        try:
            edits = rename(opened.document, opened.lines.place(params.position), params.new_name)
        except CannotRenameError as error:
            raise JsonRpcInvalidParams(str(error)) from error
        return types.WorkspaceEdit(changes={opened.uri: answers.text_edits(edits, opened.lines)})


def _answer_texts(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def on_symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        opened = server.opened(params.text_document)
        return [answers.symbol(entry, opened.lines) for entry in outline(opened.document.schedule)]

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def on_formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        opened = server.opened(params.text_document)
        if not opened.document.parsed.complete:
            return None
        text = format_schedule(opened.document.schedule)
        if text == opened.document.file.text:
            return []
        whole = types.Range(types.Position(0, 0), types.Position(len(opened.lines.lines), 0))
        return [types.TextEdit(whole, text.replace("\n", opened.newline))]

    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    def on_code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        opened = server.opened(params.text_document)
        found = server.session.known(opened)
        return answers.quick_fixes(opened, found, params.range)
