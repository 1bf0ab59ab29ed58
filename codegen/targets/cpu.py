"""The same ops in issue order, streams and syncs as comments: runs anywhere, for numbers and for reading."""

from __future__ import annotations

from streamsched.codegen.targets.base import Target

TARGET = Target(name="cpu", module="")
