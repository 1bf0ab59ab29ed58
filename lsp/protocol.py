"""The protocol's rules for messages that no feature can answer: each request is answered, by an error if need be."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

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


class Protocol(LanguageServerProtocol):
    """The language server's protocol, which passes over no request in silence."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The message that is spelled by `data`, or a part of one as it is."""
        number, method = data.get("id"), data.get("method")
        request = isinstance(number, str | int) and isinstance(method, str) and "jsonrpc" in data
        kind = self.get_message_type(method) if request else None
        if kind is None:
            return super().structure_message(data)
        try:
            return self._converter.structure(data, kind)
        except Exception:  # of many kinds, by what is wrong where
            wrong = JsonRpcInvalidParams(f"the parameters are not those of {method}")
            return Refused(number, wrong)  # type: ignore[arg-type]

    def handle_message(self, message: Any) -> None:
        """Answer a message. The server takes requests from `initialize` on until `shutdown`."""
        method, number = getattr(message, "method", None), getattr(message, "id", None)
        if number is not None and method is not None:
            if self._shutdown:
                message = Refused(number, JsonRpcInvalidRequest("the server is shutting down"))
            elif self._workspace is None and method != types.INITIALIZE:
                message = Refused(number, JsonRpcServerNotInitialized("the server has not been initialized"))
        if isinstance(message, Refused):
            self._send_response(message.id, error=message.error.to_response_error())
        else:
            super().handle_message(message)


def log_faults() -> None:
    """Tell on standard error of the server's own faults only: what a client was answered, it knows.

    A client need not read what comes there, and a server that writes much of it would come to a stand.
    """
    handler = logging.StreamHandler()
    handler.setLevel(logging.ERROR)
    handler.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], JsonRpcException)))
    logging.getLogger("pygls").addHandler(handler)
