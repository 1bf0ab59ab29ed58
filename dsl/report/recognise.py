"""Whether a file is a report that was written before, in whichever format: what a new report may replace."""

from __future__ import annotations

import json
import re

_TEXT = re.compile(r"(error|warning|info)\[[A-Z]+\d+\] [\w-]+: .*\n *--> ")
_LINES = (
    re.compile(r".*:\d+:\d+: (error|warning|info) [A-Z]+\d+ "),  # concise
    re.compile(r"::(error|warning|notice) file=.*,title=([A-Z]+\d+ [\w-]+|unreadable)::"),  # github
    re.compile(r" *\d+  (error|warning|info) +[A-Z]+\d+  "),  # statistics
)
_KEYS = (
    {"code", "severity", "location", "fingerprint"},  # json
    {"check_name", "severity", "location", "fingerprint"},  # gitlab
    {"code", "severity", "count", "fixable"},  # statistics as json
)
_JUNIT = re.compile(r"<\?xml [^>]*>\s*<testsuites name=\"streamsched\"")


def is_report(data: bytes) -> bool:
    """Whether a file's bytes look like a report of findings, be it of another format or version, or an empty one."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    if not text.strip():
        return True
    if text[0] in "[{":
        return _is_json_report(text)
    lines = text.splitlines()
    return bool(_TEXT.match(text) or _JUNIT.match(text)) or any(all(map(line.match, lines)) for line in _LINES)


def _is_json_report(text: str) -> bool:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if isinstance(data, list):
        return all(isinstance(each, dict) and any(keys <= each.keys() for keys in _KEYS) for each in data)
    try:
        return bool(data["runs"][0]["tool"]["driver"]["name"] == "streamsched")
    except (LookupError, TypeError):
        return False
