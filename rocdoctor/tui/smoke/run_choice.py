"""What is to be run: a set or single modes, ranks, back end, device, figures. Without Textual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rocdoctor.train.smoke.run.rank_sets import MAX_WORLD
from rocdoctor.train.smoke.run.request import Request
from rocdoctor.train.smoke.worker.mode import Mode

_BACKENDS, _DEVICES = ("auto", "nccl", "gloo"), ("auto", "cpu")


@dataclass(slots=True)
class RunChoice:
    """The request, and the modes from which it chooses (none before they are read in)."""

    request: Request = field(default_factory=Request)
    modes: tuple[Mode, ...] = ()

    @property
    def titles(self) -> dict[str, str]:
        """Each mode with what it is."""
        return {one.name: one.title for one in self.modes}

    @property
    def whole(self) -> tuple[str, ...]:
        """The modes of the set."""
        return tuple(one.name for one in self.modes if self.request.full or not one.full)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The modes that will be run."""
        return self.request.modes or self.whole

    def slow(self, mode: str) -> float:
        """How many of the usual deadlines a mode may take."""
        return next((one.slow for one in self.modes if one.name == mode), 1.0)

    def toggle(self, mode: str) -> bool:
        """Run a mode or not; False where none would be left."""
        wanted = set(self.wanted) ^ {mode}
        return self.only(*(one.name for one in self.modes if one.name in wanted))

    def only(self, *names: str) -> bool:
        """Run these alone; False where these are none."""
        if not names:
            return False
        self.request = replace(self.request, modes=() if names == self.whole else names)
        return True

    def change(self, what: str) -> None:
        """The next value of one part: full, more or fewer (ranks), backend, device, figures; or the whole set."""
        request = self.request
        if what == "whole":
            request = replace(request, modes=())
        elif what == "full":
            request = replace(request, full=not request.full, modes=())
        elif what == "figures":
            request = replace(request, figures=not request.figures)
        elif what == "backend":
            request = replace(request, backend=_next_of(request.backend, _BACKENDS))
        elif what == "device":
            request = replace(request, device=_next_of(request.device, _DEVICES))
        else:
            ranks = (request.world or 0) + (1 if what == "more" else -1)
            # Below one the machine decides.
            request = replace(request, world=None if ranks < 1 else min(ranks, MAX_WORLD))
        self.request = request


def _next_of(value: str, values: Sequence[str]) -> str:
    return values[(values.index(value) + 1) % len(values)]
