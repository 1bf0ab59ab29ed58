"""Where a question is asked of which the answer is built into a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType

from streamsched.dsl.trace.tracing.failures import Place
from streamsched.dsl.trace.tracing.frames import Internals


@dataclass(slots=True)
class Asked:
    """The places in other people's code than torch's, each once; none is noted while it is to be `ignored`."""

    places: list[Place] = field(default_factory=list)
    ignored: Callable[[], bool] = lambda: False

    def begin(self, ignored: Callable[[], bool]) -> None:
        """Forget what was noted; from here on, ignore what `ignored` says."""
        self.places.clear()
        self.ignored = ignored

    def note(self, frame: FrameType, internals: Internals) -> None:
        """The question is asked in `frame`."""
        place = Place(frame.f_code, frame.f_lasti)
        if frame.f_code.co_filename not in internals and place not in self.places and not self.ignored():
            self.places.append(place)
