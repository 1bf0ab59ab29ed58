"""CUDA GPUs. There is no limit of cores to spell: the generated file says so where a stream asks for one."""

from __future__ import annotations

from streamsched.codegen.targets.base import Target

TARGET = Target(name="cuda", module="torch.cuda")
