"""The digest follows the meaning of a schedule, not its layout."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from streamsched.dsl.syntax.digest import digest
from streamsched.dsl.syntax.parser import parse

IDENTITY = (Path(__file__).parent / "identity.sched").read_text().splitlines()


def of(text: str) -> str:
    return digest(parse(text, "f").schedule)


def test_layout_and_comments_do_not_count() -> None:
    assert of("stream a\na on b # c") == of("# d\n\nstream   a\r\n\na on\tb") == of("stream a\n(a) on b")


def test_the_file_does_not_count() -> None:
    assert digest(parse("stream a", "f").schedule) == digest(parse("stream a", "g").schedule)


def test_statements_their_order_and_their_names_count() -> None:
    digests = [of(line) for line in IDENTITY]
    for (first, a), (second, b) in combinations(zip(IDENTITY, digests, strict=True), 2):
        assert a != b, (first, second)
    assert of("stream a\nstream b") != of("stream b\nstream a") != of("stream a, b")


def test_the_digest_is_the_same_in_every_version() -> None:
    assert of('schedule x\nmodel "m:b"\ngroup g = a[1:] | value { "c" }') == GOLDEN


GOLDEN = "e7b52edf1e4e54eedb3be0ca947da1033fabc6e9bf73a522d5dbe3fe44aacf27"
