"""The language server as an editor meets it: a process of its own, spoken to over its standard streams."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient
from tiny import EXAMPLES

MOE = EXAMPLES / "deepseek_moe"
TEXT = (MOE / "deepseek_moe.sched").read_text(encoding="utf-8")
START = "import sys; from streamsched.cli.main import main; sys.exit(main(['lsp']))"


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[sys.executable, "-c", START]))
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    await lsp_client.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=None))
    yield
    await lsp_client.shutdown_session()


def open_text(client: LanguageClient, path: Path, text: str) -> str:
    uri = path.as_uri()
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "sched", version=1, text=text))
    )
    return uri


def change(client: LanguageClient, uri: str, version: int, text: str) -> None:
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version, uri), [types.TextDocumentContentChangeWholeDocument(text)]
        )
    )


async def shown(client: LanguageClient, uri: str) -> list[types.Diagnostic]:
    """The findings that the server publishes next."""
    client.diagnostics.pop(uri, None)
    await asyncio.wait_for(client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS), 60)
    return list(client.diagnostics[uri])


def position_of(text: str, part: str, inside: int = 1) -> types.Position:
    before = text[: text.index(part) + inside]
    return types.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)


@pytest.mark.asyncio
async def test_findings_follow_the_typing(client: LanguageClient) -> None:
    uri = open_text(client, MOE / "deepseek_moe.sched", TEXT)
    assert [d for d in await shown(client, uri) if d.severity != types.DiagnosticSeverity.Information] == []
    wrong = TEXT.replace("expert -> merge\n", "")
    change(client, uri, 2, wrong)
    (finding,) = [d for d in await shown(client, uri) if d.severity == types.DiagnosticSeverity.Error]
    assert finding.code == "ORD101" and finding.source == "streamsched"
    assert finding.related_information and any(
        "modeling_deepseek_v3" in r.location.uri for r in finding.related_information
    )

    actions = await client.text_document_code_action_async(
        types.CodeActionParams(types.TextDocumentIdentifier(uri), finding.range, types.CodeActionContext([finding]))
    )
    assert actions
    edits = [
        e for a in actions if isinstance(a, types.CodeAction) and a.edit and a.edit.changes for e in a.edit.changes[uri]
    ]
    assert [edit.new_text.strip() for edit in edits] == ["expert -> merge"]


@pytest.mark.asyncio
async def test_a_check_that_is_overtaken_says_nothing(client: LanguageClient) -> None:
    uri = open_text(client, MOE / "deepseek_moe.sched", TEXT)
    await shown(client, uri)
    for version in range(2, 22):
        change(client, uri, version, TEXT + f"# {version}\nexpert -> nowhere{version}\n")
    finding = await shown(client, uri)
    assert any("nowhere21" in each.message for each in finding)


@pytest.mark.asyncio
async def test_requests_about_a_place(client: LanguageClient) -> None:
    text = TEXT.replace("schedule deepseek_moe", "schedule deepseek_moe  # \N{SMILING FACE WITH OPEN MOUTH}")
    uri = open_text(client, MOE / "deepseek_moe.sched", text)
    document = types.TextDocumentIdentifier(uri)
    hover = await client.text_document_hover_async(
        types.HoverParams(document, position_of(text, 'module "shared_experts"'))
    )
    assert hover is not None and isinstance(hover.contents, types.MarkupContent)
    assert "5 kernels" in hover.contents.value

    definition = await client.text_document_definition_async(
        types.DefinitionParams(document, position_of(text, "expert on shared"))
    )
    assert isinstance(definition, list) and definition[0].uri == uri  # type: ignore[union-attr]

    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    assert symbols is not None and [s.name for s in symbols][:3] == ["deepseek_moe", "model.py:build", "shared"]

    renamed = await client.text_document_rename_async(
        types.RenameParams(document, position_of(text, "expert on shared"), "shared_expert")
    )
    assert renamed is not None and renamed.changes is not None and len(renamed.changes[uri]) == 5
    with pytest.raises(JsonRpcException, match="already"):
        await client.text_document_rename_async(
            types.RenameParams(document, position_of(text, "expert on shared"), "merge")
        )


@pytest.mark.asyncio
async def test_completion_replaces_what_was_typed(client: LanguageClient) -> None:
    text = TEXT + 'group again = module "shared_experts.ga'
    uri = open_text(client, MOE / "deepseek_moe.sched", text)
    end = types.Position(text.count("\n"), len(text.rsplit("\n", 1)[1]))
    answer = await client.text_document_completion_async(types.CompletionParams(types.TextDocumentIdentifier(uri), end))
    assert isinstance(answer, types.CompletionList)
    (item,) = answer.items
    assert item.label == "shared_experts.gate_proj" and isinstance(item.text_edit, types.TextEdit)
    assert item.text_edit.range == types.Range(types.Position(end.line, end.character - len("shared_experts.ga")), end)


@pytest.mark.asyncio
async def test_formatting_keeps_comments_and_leaves_a_broken_text_alone(client: LanguageClient) -> None:
    uri = open_text(client, MOE / "deepseek_moe.sched", TEXT.replace("expert -> merge", "expert->merge   # why"))
    ask = types.DocumentFormattingParams(types.TextDocumentIdentifier(uri), types.FormattingOptions(4, True))
    edits = await client.text_document_formatting_async(ask)
    assert edits is not None and edits[0].new_text.endswith("expert -> merge  # why\n")
    change(client, uri, 2, TEXT + "group =\n")
    assert await client.text_document_formatting_async(ask) is None


@pytest.mark.asyncio
async def test_a_trace_that_is_written_meanwhile_is_seen(client: LanguageClient, tmp_path: Path) -> None:
    uri = open_text(client, tmp_path / "deepseek_moe.sched", TEXT.replace('"shared_experts"', '"shared_expert"'))
    assert await shown(client, uri) == []
    shutil.copy(MOE / "model.py", tmp_path)
    shutil.copy(MOE / "deepseek_moe.trace.json.gz", tmp_path)
    saved = types.FileEvent((tmp_path / "deepseek_moe.trace.json.gz").as_uri(), types.FileChangeType.Created)
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([saved]))
    (finding,) = [d for d in await shown(client, uri) if d.severity == types.DiagnosticSeverity.Error]
    assert finding.code == "SEL101"


BAD = ("", "\n", "\ufeff", 'group a = module "', "\x00\x01", "[" * 500, "a -> " * 400, "\u00e9\U0001f600 on")


@pytest.mark.asyncio
async def test_no_text_stops_the_server(client: LanguageClient, tmp_path: Path) -> None:
    for number, text in enumerate(BAD):
        uri = open_text(client, tmp_path / f"{number}.sched", text)
        await shown(client, uri)
        document = types.TextDocumentIdentifier(uri)
        for position in (types.Position(0, 0), types.Position(0, 3), types.Position(7, 9)):
            await client.text_document_hover_async(types.HoverParams(document, position))
            await client.text_document_completion_async(types.CompletionParams(document, position))
            await client.text_document_definition_async(types.DefinitionParams(document, position))
            await client.text_document_prepare_rename_async(types.PrepareRenameParams(document, position))
        await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
