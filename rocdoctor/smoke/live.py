"""One smoke run on this machine, as the question ``smoke SET [NAME=VALUE ...]`` asks for it.

The question is the key under which the results are recorded: ``smoke quick world=4 backend=gloo``. Names: ``world``,
``backend``, ``device``, ``deadline`` (seconds, of one mode) and ``modes`` (separated by commas); SET is quick or full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rocdoctor.smoke.plan import plan
from rocdoctor.smoke.pool import Pool
from rocdoctor.smoke.results import SmokeRun
from rocdoctor.smoke.runner import modes_named, run_modes

Told = Callable[[str, str, int, str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for; None and empty mean that the machine decides."""

    full: bool = False
    modes: tuple[str, ...] = ()
    world: int | None = None
    backend: str = "auto"
    device: str = "auto"
    deadline_s: float | None = None

    def question(self) -> str:
        """The question that asks for it."""
        words = ["smoke", "full" if self.full else "quick"]
        words += [f"modes={','.join(self.modes)}"] if self.modes else []
        words += [f"world={self.world}"] if self.world is not None else []
        words += [f"backend={self.backend}"] if self.backend != "auto" else []
        words += [f"device={self.device}"] if self.device != "auto" else []
        words += [f"deadline={self.deadline_s:g}"] if self.deadline_s is not None else []
        return " ".join(words)


def request_of(question: str) -> Request:
    """The request of a question.

    Raises:
        ValueError: it is none.
    """
    verb, chosen, *rest = question.split(" ")
    values = dict(word.split("=", 1) for word in rest)
    if verb != "smoke" or chosen not in ("quick", "full") or set(values) - _NAMES:
        raise ValueError(f"no smoke question: {question}")
    return Request(
        chosen == "full", tuple(filter(None, values.get("modes", "").split(","))),
        int(values["world"]) if "world" in values else None, values.get("backend", "auto"),
        values.get("device", "auto"), float(values["deadline"]) if "deadline" in values else None,
    )  # fmt: skip


_NAMES = frozenset(("modes", "world", "backend", "device", "deadline"))


def perform(request: Request, interpreter: str, told: Told | None = None) -> list[SmokeRun]:
    """Run it.

    Raises:
        PoolError: the interpreter cannot run smoke tests.
        PlanError: this machine cannot do what was asked for.
    """
    modes = modes_named(request.modes, request.full)
    with Pool(interpreter) as pool:
        gpus: list[dict[str, object]] = []
        notes: tuple[str, ...] = ()
        if request.device != "cpu" and (pool.hello.get("hip") or pool.hello.get("cuda")):
            seen = pool.survey()
            gpus = seen["gpus"]
            if seen.get("error"):
                notes = (f"torch cannot use a GPU: {seen['error']}",)
        settings = plan(pool.hello, gpus, request.world, request.backend, request.device, request.deadline_s)
        return [run_modes(pool, one, modes, told, notes) for one in settings]
