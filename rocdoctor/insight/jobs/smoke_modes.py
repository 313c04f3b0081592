"""What the checks of smoke tests share: the modes that went wrong, in words that name rank and GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocdoctor.judging.check import not_applicable, quote
from rocdoctor.model.facts import Machine, ModeResult, SmokeRun, SmokeState
from rocdoctor.model.finding import Evidence, Selected, Subjects
from rocdoctor.model.shell_command import ShellCommand, shell
from rocdoctor.model.subject import MACHINE

LAYERS = {
    "device": "arithmetic on one device",
    "link": "the link between two GPUs",
    "collectives": "the collective library",
    "framework": "the framework or the program",
    "configuration": "the configuration of this machine",
}


def with_smoke(machine: Machine) -> Subjects[None]:
    """The machine, where smoke tests were run."""
    return [Selected(MACHINE, None)] if machine.smoke else not_applicable("no smoke tests were run")


def modes_in(machine: Machine, state: SmokeState) -> Iterator[tuple[SmokeRun, ModeResult]]:
    """The modes that ended so, with their run."""
    return ((run, one) for run in machine.smoke for one in run.modes if one.state == state)


def evidence(machine: Machine, one: ModeResult) -> list[Evidence]:
    """Where the result stands."""
    return [quote(machine.smoke_question, f"{one.mode}: {one.state}")]


def layer_words(one: ModeResult) -> str:
    """Where to look, as a clause; empty when nothing is known."""
    return f" Likely layer: {LAYERS[one.layer]}." if one.layer else ""


def again(run: SmokeRun, modes: Sequence[str]) -> ShellCommand:
    """The command that tries the modes again in the same setting."""
    device = ShellCommand(" --device cpu" if run.device == "cpu" else "")
    return shell(
        "rocdoctor smoke --world {world} --backend {backend}{device} {modes}",
        world=run.world,
        backend=run.backend,
        device=device,
        modes=modes,
    )
