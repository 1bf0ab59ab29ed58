"""What may be typed next: keywords, groups, streams, and the names of the traced model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from streamsched.dsl.devices.table import names as device_names
from streamsched.dsl.syntax.statement_rules import DTYPES, TARGETS
from streamsched.dsl.trace.model import Trace
from streamsched.lsp.document import Document
from streamsched.lsp.ignoring import code_at, codes
from streamsched.lsp.keywords import KEYWORDS, SELECTORS, STATEMENTS
from streamsched.lsp.source_files import files, names_in
from streamsched.lsp.typed import Typed, typed

LIMIT = 200
"""How many names are offered at once; an editor asks again as more is typed."""

_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"target\s+", TARGETS),
    (r"sync\s+", ("explicit", "auto")),
    (r"memory\s+", ("auto", "record_stream", "join")),
    (r"trace\s+", ("compiled", "eager")),
    (r"inputs\s+", ("from",)),
    (r"input\b[^:]*:\s*|input\b.*[,;][^:]*:\s*", DTYPES),
    (r"device\s+\w+\s*\{.*", ("aic", "aiv", "mhz", "bandwidth", "streams")),
    (r"(?:batch|collective)\b.*\bcores\b[^;]*", ("aic", "aiv")),
    (r"stream\b[^{]*\{.*\bcores\b[^;]*", ("aic", "aiv")),
    (r"stream\b[^{]*\{.*", ("priority", "cores")),
    (r'leaf\s+"[^"]*"\s+', ("from",)),
    (r'scope\s+"[^"]*"\s+', ("class",)),
)
"""By the statement so far: the words that can follow."""

_DECLARATION = re.compile(rf"(?:{'|'.join((*STATEMENTS, 'cost'))})\b")
_SELECTOR_NEXT = re.compile(r"(?:^|[=|&(,]|->|\.\.|\bbefore\b|-)\s*$")


@dataclass(frozen=True, slots=True)
class Offer:
    """One completion: the text that replaces the word or string at the cursor, what kind of thing it is, and a note."""

    text: str
    kind: str  # keyword, group, stream, module, op, value, node, file, name, rule
    note: str = ""


def complete(document: Document, offset: int) -> tuple[list[Offer], int]:
    """The offers at `offset` of the text, best first, and how many characters before it they replace."""
    at = typed(document.file.text, offset)
    if at is None:
        code = code_at(document.file.text[:offset])
        if code is None:
            return [], 0
        return _fitting((Offer(each, "rule", name) for each, name in codes()), code), len(code)
    offers = _in_string(document, at) if at.in_string else _words(document, at)
    return _fitting(offers, at.word), len(at.word)


def _fitting(offers: Iterable[Offer], word: str) -> list[Offer]:
    """The offers that what has been typed is a part of, those before that begin with it."""
    wanted = word.lower()
    fitting = (offer for offer in offers if wanted in offer.text.lower())
    return sorted(fitting, key=lambda offer: not offer.text.lower().startswith(wanted))[:LIMIT]


def _words(document: Document, at: Typed) -> Iterator[Offer]:
    text = at.text
    if re.search(r"\bvalue\s*\{[^}]*$", text):
        yield from (Offer(name, "value") for name in _values(document))
        return
    for pattern, words in _WORDS:
        if re.fullmatch(pattern, text, re.DOTALL):
            yield from (_keyword(word) for word in words)
            return
    if re.search(r"\bclass\s+$", text):
        yield from (Offer(name, "name") for name in _classes(document))
    elif re.search(r"\bon\s+$", text):
        yield from (Offer(name, "stream") for name in ("default", *document.streams))
    elif re.fullmatch(r"device\s+", text):
        yield from (Offer(name, "name") for name in device_names())
    elif not text.strip():
        yield from _groups(document)
        yield from (_keyword(word) for word in (*STATEMENTS, *SELECTORS))
    elif _selector_expected(text):
        yield from _groups(document)
        yield from (_keyword(word) for word in SELECTORS)
    elif not _DECLARATION.match(text):
        yield from (_keyword(word) for word in ("on", "before"))
        yield Offer("->", "keyword", "a completes before b starts")


def _selector_expected(text: str) -> bool:
    """Whether a selector can begin here: at an operator of a group's definition, a placement or an edge."""
    declares = _DECLARATION.match(text)
    if declares and declares[0] in ("batch", "collective"):
        return re.fullmatch(r"\w+\s+(?:.*[,|&(-]\s*)?", text, re.DOTALL) is not None
    if declares and (declares[0] != "group" or "=" not in text):
        return False
    return _SELECTOR_NEXT.search(text) is not None


def _keyword(word: str) -> Offer:
    known = KEYWORDS.get(word)
    return Offer(word, "keyword", known.form if known is not None else "")


def _groups(document: Document) -> Iterator[Offer]:
    for name, statement in document.groups.items():
        yield Offer(name, "group", f"line {statement.span.line}")


def _in_string(document: Document, at: Typed) -> Iterable[Offer]:
    if at.keyword in ("model", "from", "fakes"):
        return _references(document, at)
    if document.index is None:
        return []
    trace = document.index.trace
    sources: dict[str, Callable[[], Iterable[Offer]]] = {
        "module": lambda: _paths((call.label for call in trace.calls[1:] if call.begin < call.end), at.word, "module"),
        "leaf": lambda: _paths((call.path for call in trace.calls[1:]), at.word, "module"),
        "scope": lambda: _paths(trace.scope.instances if trace.scope else (), at.word, "module"),
        "op": lambda: (Offer(name, "op") for name in _targets(trace)),
        "value": lambda: (Offer(name, "value") for name in _values(document)),
        "node": lambda: (Offer(op.name, "node", op.target) for op in trace.ops),
        "line": lambda: (Offer(f"{s.path}:", "file") for _, s in trace.sources if not s.package),
    }
    return sources.get(at.keyword, list)()


def _paths(paths: Iterable[str], word: str, kind: str) -> Iterator[Offer]:
    """Paths up to the segment that is being typed, so that thousands of modules are offered level by level."""
    depth = word.count(".") + 1
    found = dict.fromkeys(".".join(path.split(".")[:depth]) for path in paths)
    yield from (Offer(path, kind) for path in found if path)


def _targets(trace: Trace) -> list[str]:
    packets = {op.target.rsplit(".", 1)[0] for op in trace.ops}
    return sorted(packet.split(".", 1)[-1] for packet in packets) + sorted(packets)


def _values(document: Document) -> list[str]:
    return sorted(document.index.executions) if document.index is not None else []


def _classes(document: Document) -> list[str]:
    if document.index is None:
        return []
    return sorted({call.type.rpartition(":")[2] for call in document.index.trace.calls})


def _references(document: Document, at: Typed) -> Iterator[Offer]:
    """Files beside the schedule; behind the colon, the names in the file."""
    file, colon, _ = at.word.rpartition(":")
    if not colon:
        yield from (Offer(name if at.keyword == "fakes" else f"{name}:", "file") for name in files(document.file.base))
        return
    yield from (Offer(f"{file}:{name}", "name") for name, _ in names_in(document.file.base, file))
