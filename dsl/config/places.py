"""Where in a TOML text a key or a string stands; its parser does not tell."""

from __future__ import annotations

import re
from bisect import bisect_right

from streamsched.dsl.diagnostic import Span

_HEADER = re.compile(r"^[ \t]*\[+([^\]\n]*)\]+", re.MULTILINE)


class Places:
    """The places of the keys under one table. What is not found stands where the table begins."""

    def __init__(self, text: str, file: str, table: str) -> None:
        self._text = text
        self._file = file
        self._name = table.rsplit(".", 1)[-1]
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._sections = list(self._find_sections(table))

    def key(self, *path: str) -> Span:
        """The span of a key, of the table itself without one."""
        found = self._key(path)
        return self._span(*found) if found else self._span(*self._sections[0][1:3])

    def value(self, text: str, *path: str) -> Span:
        """The span of the string `text` in the value of a key, without its quotes; the key's where it is not there."""
        found = self._key(path)
        if found is None:
            return self.key(*path)
        start = found[1]
        for quote in "\"'":
            at = self._text.find(f"{quote}{text}{quote}", start)
            if at >= 0:
                return self._span(at + 1, at + 1 + len(text))
        return self._span(*found)

    def _find_sections(self, table: str) -> list[tuple[tuple[str, ...], int, int, int]]:
        """Of each table under `table`: its path from there, where its header begins and ends, and where it ends."""
        headers = list(_HEADER.finditer(self._text))
        ends = [*(header.start() for header in headers[1:]), len(self._text)]
        own = tuple(table.split("."))
        found = []
        for header, end in zip(headers, ends, strict=False):  # without a header there is one end, of nothing
            path = tuple(part.strip().strip("\"'") for part in header[1].split("."))
            if path[: len(own)] == own:
                found.append((path[len(own) :], header.start(), header.end(), end))
        if not any(path == () for path, *_ in found):
            found.insert(0, ((), *self._key_of_table(), len(self._text)))
        return found

    def _key_of_table(self) -> tuple[int, int]:
        """Where a table without a header begins: its own key, in dots or with a table for a value."""
        match = re.search(rf"""(?<![\w-])["']?{self._name}["']?(?=\s*(?:\.|=(?!=)))""", self._text)
        return match.span() if match else (0, 0)

    def _key(self, path: tuple[str, ...]) -> tuple[int, int] | None:
        """Where a key stands: in a table of its own, else in the deepest table that may hold it."""
        for section, start, header_end, _ in self._sections:
            if path and section == path:
                return start, header_end
        for section, _, header_end, end in sorted(self._sections, key=lambda each: -len(each[0])):
            if path[: len(section)] == section:
                found = self._search(path[len(section) :], header_end, end)
                if found is not None:
                    return found
        return None

    def _search(self, parts: tuple[str, ...], start: int, end: int) -> tuple[int, int] | None:
        """Where the last of some keys stands, each of which holds the next."""
        found = None
        for part in parts:
            name, own = re.escape(part), self._name
            match = re.compile(rf"""(?:"{name}"|'{name}'|(?<![\w."'-]){name}|(?<={own}\.){name})(?=\s*[.=])""").search(
                self._text, start, end
            )
            if match is None:
                return None
            found, start = match.span(), match.end()
        return found

    def _span(self, start: int, end: int) -> Span:
        line = bisect_right(self._starts, start)
        last = bisect_right(self._starts, end)
        return Span(self._file, line, start - self._starts[line - 1] + 1, last, end - self._starts[last - 1] + 1)
