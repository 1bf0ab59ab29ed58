"""What the checks need to know of a device."""

from __future__ import annotations

from dataclasses import dataclass

GRAPH_STREAMS = 2048
"""How many streams the captured graphs of one process have together, where nothing says otherwise."""

_CUBE_FLOPS = 2 * 16**3
_LANES = 128


@dataclass(frozen=True, slots=True)
class Device:
    """A device: its cube cores (`aic`) and vector cores (`aiv`).

    `mhz` is the clock of its cores, `bandwidth` that of its memory in GB/s; 0 where they are not known. `streams` is
    how many streams it has for captured graphs.
    """

    name: str
    aic: int
    aiv: int
    mhz: int = 0
    bandwidth: int = 0
    streams: int = GRAPH_STREAMS

    def __post_init__(self) -> None:
        assert self.aic >= 0 and self.aiv >= 0 and self.streams >= 1, self
        assert self.mhz >= 0 and self.bandwidth >= 0, self

    @property
    def rated(self) -> bool:
        """Whether times can be estimated."""
        return self.mhz > 0 and self.bandwidth > 0

    @property
    def cube_rate(self) -> float:
        """Floating point operations of half-precision products in a microsecond: 16x16x16 a cycle and cube core."""
        return float(_CUBE_FLOPS * self.mhz * self.aic)

    @property
    def vector_rate(self) -> float:
        """Half-precision operations on elements in a microsecond: 128 a cycle and vector core."""
        return float(_LANES * self.mhz * self.aiv)

    @property
    def byte_rate(self) -> float:
        """Bytes of memory in a microsecond."""
        return self.bandwidth * 1e3
