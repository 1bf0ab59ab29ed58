"""The protocol's rules for messages that no feature can answer: each request is answered, by an error if need be."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that is answered by an error, whatever it asks."""

    id: str | int
    error: JsonRpcException


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A notification whose parameters are not those of its method."""


UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)
"""What reading a message raises that is no JSON, or nests too deeply."""

_OF_OPEN_TEXTS = (types.TEXT_DOCUMENT_DID_CHANGE, types.TEXT_DOCUMENT_DID_CLOSE)


class Protocol(LanguageServerProtocol):
    """The language server's protocol, which passes over no request in silence.

    `ended_early` is whether the client ended it without `shutdown`.
    """

    ended_early = False

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The message that is spelled by `data`, or a part of one as it is; None where it is none."""
        number, method = data.get("id"), data.get("method")
        request = isinstance(number, str | int) and isinstance(method, str) and "jsonrpc" in data
        kind = self.get_message_type(method) if request else None
        if kind is None:
            try:
                return super().structure_message(data)
            except JsonRpcException:
                return None if number is not None or method is None else Unanswered()
        try:
            return self._converter.structure(data, kind)
        except Exception:  # of many kinds, by what is wrong where
            wrong = JsonRpcInvalidParams(f"the parameters are not those of {method}")
            return Refused(number, wrong)  # type: ignore[arg-type]

    def handle_message(self, message: Any) -> None:
        """Answer a message. The server takes requests from `initialize` on until `shutdown`."""
        method, number = getattr(message, "method", None), getattr(message, "id", None)
        if number is not None and method is not None:
            message = self._refused(number, method) or message
        elif method is not None and not self._expected(method, message):
            return
        if isinstance(message, Refused):
            self._send_response(message.id, error=message.error.to_response_error())
        elif hasattr(message, "jsonrpc"):
            super().handle_message(message)
        elif not isinstance(message, Unanswered):
            self.refuse_unknown(JsonRpcInvalidRequest("this is no message of JSON-RPC"))

    def refuse_unknown(self, error: JsonRpcException) -> None:
        """Answer what cannot be told from a request."""
        self._send_data({"jsonrpc": self.VERSION, "id": None, "error": error.to_response_error()})

    def _refused(self, number: str | int, method: str) -> Refused | None:
        """The answer to a request that comes at a wrong time."""
        if self._shutdown:
            return Refused(number, JsonRpcInvalidRequest("the server is shutting down"))
        if self._workspace is None and method != types.INITIALIZE:
            return Refused(number, JsonRpcServerNotInitialized("the server has not been initialized"))
        if self._workspace is not None and method == types.INITIALIZE:
            return Refused(number, JsonRpcInvalidRequest("the server has been initialized already"))
        return None

    def _expected(self, method: str, message: Any) -> bool:
        """Whether a notification means something now; such as do not are passed over, for they have no answer."""
        if method == types.EXIT:
            self.ended_early = not self._shutdown
            return True
        if self._workspace is None:
            return False
        texts = self._workspace.text_documents
        return method not in _OF_OPEN_TEXTS or unquote(message.params.text_document.uri) in texts


def log_faults() -> None:
    """Tell on standard error of the server's own faults only: what a client was answered, it knows.

    A client need not read what comes there, and a server that writes much of it would come to a stand.
    """
    handler = logging.StreamHandler()
    handler.setLevel(logging.ERROR)
    handler.addFilter(_is_own_fault)
    logging.getLogger("pygls").addHandler(handler)


def _is_own_fault(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    unreadable = isinstance(error, UNREADABLE) and record.msg == "Unable to handle message"
    return not (isinstance(error, JsonRpcException) or unreadable or "Unable to deserialize" in record.msg)
