"""Saved traces: files of gzipped JSON."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.files import file_bytes
from streamsched.dsl.garbage import collector_off
from streamsched.dsl.trace import saved_rules
from streamsched.dsl.trace.decode import decode
from streamsched.dsl.trace.encode import FORMAT, VERSION, encode
from streamsched.dsl.trace.model import NONE, Position, Statement, Trace
from streamsched.dsl.trace.sound import check

_SEAL = b',"seal":"'


@dataclass(frozen=True, slots=True)
class Loaded:
    """A trace read from a file; or none, and why."""

    trace: Trace | None
    diagnostics: tuple[Diagnostic, ...]


def save(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace. A reader sees the old file or the new one, never a part. Raises OSError."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(gzip.compress(_sealed(encode(trace).encode()), 9, mtime=0))
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def load(path: str | os.PathLike[str], span: Span) -> Loaded:
    """Read a trace; what is wrong with the file is said at `span`."""
    try:
        with collector_off():
            data = gzip.decompress(file_bytes(path))
            document = json.loads(data)
    except OSError as error:
        reason = error.strerror or "it is not gzipped"
        message = f"the trace {path} cannot be read: {reason[:1].lower()}{reason[1:]}"
        closed = "let the user of this command read it" if isinstance(error, PermissionError) else ""
        return Loaded(None, (saved_rules.unreadable_trace(span, message, closed),))
    except (EOFError, zlib.error):
        return Loaded(None, (saved_rules.unreadable_trace(span, f"the trace {path} is cut short or damaged"),))
    except (ValueError, RecursionError):
        return Loaded(None, (saved_rules.unreadable_trace(span, f"the trace {path} holds no JSON"),))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return Loaded(None, (saved_rules.unreadable_trace(span, f"{path} holds no trace"),))
    version = document.get("version")
    if version != VERSION:
        message = f"the trace {path} has format {version}; this release reads format {VERSION}"
        return Loaded(None, (saved_rules.trace_of_other_version(span, message),))
    try:
        with collector_off():
            if not _is_sealed(data):
                check(document)
            return Loaded(decode(document), ())
    except (AssertionError, AttributeError, KeyError, IndexError, TypeError, ValueError, RecursionError):
        return Loaded(None, (saved_rules.unreadable_trace(span, f"the trace {path} is damaged"),))


def _sealed(text: bytes) -> bytes:
    """JSON with a hash of itself at its end, which tells that nobody has edited it since."""
    return text[:-1] + _SEAL + hashlib.sha256(text).hexdigest().encode() + b'"}'


def _is_sealed(data: bytes) -> bool:
    text, _, seal = data.rpartition(_SEAL)
    return seal == hashlib.sha256(text + b"}").hexdigest().encode() + b'"}'


def is_saved_trace(data: bytes) -> bool:
    """Whether a file's bytes begin as a saved trace does, of whichever version."""
    try:
        head = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(data, 1000)
    except zlib.error:
        return False
    return head.startswith(b"{") and f'"{FORMAT}"'.encode() in head


def digest(trace: Trace) -> str:
    """SHA-256 of a trace's content in hex: what is the same however the model's source is laid out, and wherever it
    was traced."""
    nowhere = Position("", "", 1, 1, 1, 1)
    content = dataclasses.replace(
        trace,
        determined_by=(),
        torch_version="",
        python_version="",
        ops=tuple(dataclasses.replace(op, stack=NONE) for op in trace.ops),
        statements=tuple(Statement(nowhere, s.binds, "") for s in trace.statements),
        positions=(),
        stacks=(),
        sources=(),
        warnings=(),
        told=(),
        digest="",
    )
    return hashlib.sha256(encode(content).encode()).hexdigest()
