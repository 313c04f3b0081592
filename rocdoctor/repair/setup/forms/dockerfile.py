"""A plan as a Dockerfile: an image that has what torch needs beside the driver, for the GPUs of the machine.

The base is AMD's image where its pages name one with the torch and the ROCm that the plan chose, else the
distribution's own, in which the commands of the plan run. Kernel, driver and groups stay with the host: the file says
which steps those are, and how the container is given the devices.

Instructions as in Docker's Dockerfile reference: the shell form of RUN, in which no variable of the file is replaced,
and ENV, whose words are in double quotes with ``\\``, ``"`` and ``$`` escaped (read 2026-11-24).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rocdoctor.knowledge import install
from rocdoctor.knowledge.install.images import distribution_image, vendor_images
from rocdoctor.knowledge.load import source
from rocdoctor.model.lazy_re import regex
from rocdoctor.repair.setup.command_lines import broken, quoted
from rocdoctor.repair.setup.forms.image_plan import ENVIRONMENT
from rocdoctor.repair.setup.forms.parts import CannotExpress, PlanOrigin, fate, reasons
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step
from rocdoctor.repair.setup.script_guards import unattended
from rocdoctor.repair.setup.words import GOAL_WORDS, number, proof_words
from rocdoctor.train.emit.files import comment, plain

_WIDTH = 116
_TORCH = regex(r"torch(?:\[[a-z0-9,-]+\])?==(\d[\d.]*)(?:\+rocm(\d[\d.]*))?\Z")
_INDEX = regex(r"/rocm(\d+\.\d+(?:\.\d+)?)/?\Z")
_EXPORT = regex(r"export ([A-Z_][A-Z0-9_]*)=([!-~]*)\Z")
_IN_DOUBLE_QUOTES = regex(r'([\\"$])')
_ESCAPED = r"\\\1"
_DEVICES = {
    "amd": (
        '--device=/dev/kfd --device=/dev/dri --group-add "$(stat -c %g /dev/kfd)"',
        "--security-opt seccomp=unconfined --cap-add=SYS_PTRACE --ipc=host",
    ),
    "nvidia": ("--gpus all --ipc=host",),
    "cpu": ("--ipc=host",),
}
_DEVICE_NOTES = {
    "amd": "Give the group by the number that owns the nodes on the host: its name means nothing in an image.",
    "nvidia": "--gpus needs NVIDIA's container toolkit on the host (rocdoctor setup --goal container).",
}


@dataclass(frozen=True, slots=True)
class _Base:
    """The image to start from, why, and whether torch is in it."""

    image: str
    why: str
    has_torch: bool = False


def render(image: SetupPlan, host: SetupPlan, made: PlanOrigin, vendor: str, gfx: Collection[str] = ()) -> str:
    """The Dockerfile; raises CannotExpress where the plan of the image has a gap, or no base image is known.

    ``image``: the plan of an image from nothing (``image_plan``). ``host``: that of the machine, whose steps for kernel
    and driver stay there. ``vendor``: that of the GPUs, "cpu" without any; ``gfx``: the targets of AMD's.
    """
    no_image = "no image can be made from this plan."
    if not image.steps:
        raise CannotExpress(f"{no_image} No part of this goal belongs in an image. Nearest: --format text")
    base = _base(image, made, gfx)  # where there is none, what is unknown of it matters no more
    gap = next((one for one in image.steps if not one.optional and one.state in ("unknown", "impossible")), None)
    gap = gap or next((one for one in image.steps if not one.optional and fate(image, one) == "person"), None)
    if gap is not None:
        raise CannotExpress(f"{no_image} {plain(gap.title)}: {plain(gap.why)} Nearest: --format text")
    return "\n".join([*_head(image, host, made, vendor), *_from(base), *_steps(image, base)]) + "\n"


def _base(image: SetupPlan, made: PlanOrigin, gfx: Collection[str]) -> _Base:
    """AMD's image has code for the targets of its lists, and the tables do not say that it has any other."""
    key, other = f"{made.os_id} {made.os_version}", ""
    torch, rocm = next(_wheels(image), ("", ""))
    if rocm and set(gfx) <= install.current_targets():
        for found in vendor_images(torch, key, rocm)[:1]:
            what = f"AMD's image with torch {torch} and ROCm {rocm}"
            return _Base(found.name, f"{what} ({_sources(found.sources)}).", True)
        for found in vendor_images(torch, key)[:1]:
            other = f" AMD's image with torch {torch} and a different ROCm, if you prefer it: {found.name}"
    own = distribution_image(made.os_id, made.os_version)
    if own is None:
        named = made.os_words or key.strip() or "this distribution"
        raise CannotExpress(f"the tables name no base image for {named}; nearest: --format text")
    return _Base(own.name, f"The image of the distribution itself ({_sources(own.sources)}).{other}")


def _sources(names: Iterable[str]) -> str:
    found = (source("install_images", name) for name in names)
    return "; ".join(one.what for one in found if one is not None)


def _wheels(image: SetupPlan) -> Iterator[tuple[str, str]]:
    """(torch, ROCm) of the wheels that the plan installs; "" for what its command does not name."""
    for action in (one for step in image.steps for one in step.actions):
        torch = next((found for word in action.words if (found := _TORCH.match(word))), None)
        if torch is not None:
            index = next((found[1] for word in action.words if (found := _INDEX.search(word))), "")
            yield torch[1], torch[2] or index


def _head(image: SetupPlan, host: SetupPlan, made: PlanOrigin, vendor: str) -> Iterator[str]:
    yield from comment(f"Setup for {GOAL_WORDS[image.goal]}, from {made.subject}; written by rocdoctor.")
    told = ", ".join(one for one in (made.os_words, made.gpus) if one)
    if told:
        yield from comment(f"For machines of this kind: {told}. Read it before you build it.")
    yield "#"
    yield "#   docker build -t train -f FILE ."
    flags = _DEVICES.get(vendor, _DEVICES["cpu"])
    yield "#   docker run --rm -it " + " \\\n#     ".join([*flags, '-v "$PWD:/work" train'])
    if vendor in _DEVICE_NOTES:
        yield from comment(_DEVICE_NOTES[vendor])
    yield from comment(
        "--ipc=host gives the container the host's /dev/shm, through which data loaders and collectives exchange data."
    )
    here = ("firmware", "kernel", "driver")
    left = [one for one in host.steps if one.layer in here and one.state != "done" and not one.optional]
    for step in left:
        yield from comment(f"On the host first: step {number(host, step)} of rocdoctor setup, {plain(step.title)}.")


def _from(base: _Base) -> Iterator[str]:
    yield from ("", *comment(base.why), f"FROM {base.image}")


def _steps(image: SetupPlan, base: _Base) -> Iterator[str]:
    made = False
    for step in image.steps:
        if step.state == "done":
            continue
        yield ""
        yield from (line for told in reasons(image, step) for line in comment(told))
        if base.has_torch and step.layer in ("python", "torch") and not _variables(step.actions):
            yield "# The base image has it."
            continue
        if fate(image, step) != "run":
            yield "# Not in this image: it has to be done by hand, and the goal does not need it."
            continue
        made = made or any(one.words[-1:] == (ENVIRONMENT,) for one in step.actions)
        yield from _instructions(step)
        yield from _proven(step)
        if any(one.words[-1:] == (ENVIRONMENT,) for one in step.actions):
            yield f'ENV PATH="{ENVIRONMENT}/bin:$PATH"'
    if any(step.layer == "torch" for step in image.steps):
        python = f"{ENVIRONMENT}/bin/python" if made else "python3"
        yield from ("", "# The build fails if torch cannot be loaded. No GPU is visible while an image is built.")
        yield f'RUN {python} -c "import torch; print(torch.__version__, torch.version.hip or torch.version.cuda)"'
    yield from ("", "WORKDIR /work")


def _proven(step: Step) -> Iterator[str]:
    """What a build can prove of a step: no GPU and no driver is seen while an image is built."""
    words, expects = proof_words(step)
    if step.layer == "python" and words and expects:
        yield f"RUN {' '.join(quoted(word) for word in words)} | grep -E {quoted(expects)}"
    elif step.layer == "rocm" and words:
        shown = f": {plain(step.verify.shows)}" if step.verify is not None and step.verify.shows else ""
        yield from comment(f"That it is there; what it shows with a GPU is seen in the container{shown}.")
        yield f"RUN test -x {quoted(words[0])}"


def _variables(actions: Sequence[Action]) -> list[tuple[str, str]]:
    """The variables that actions set in a start-up file, where that is all they do."""
    found = [_EXPORT.match(line) for one in actions for line in one.lines]
    whole = all(one.append and one.lines for one in actions)
    return [(one[1], one[2]) for one in found if one is not None] if whole and all(found) else []


def _instructions(step: Step) -> Iterator[str]:
    variables = _variables(step.actions)
    if variables:
        yield from (f'ENV {name}="{_IN_DOUBLE_QUOTES.sub(_ESCAPED, value)}"' for name, value in variables)
        return
    lines: list[str] = []
    actions = [_without_cache(one) for one in step.actions]
    commands = [tokens for one in actions for tokens in _commands(one)]
    if any(one.words[:1] == ("apt",) for one in step.actions):
        commands.append(("rm", "-rf", "/var/lib/apt/lists/*"))
    for at, tokens in enumerate(commands):
        first = "RUN " if at == 0 else "  && "
        found = broken((first + tokens[0], *tokens[1:]), _WIDTH, "", "    ")
        lines += [*found[:-1], found[-1] + (" \\" if at + 1 < len(commands) else "")]
    yield from lines


def _commands(action: Action) -> list[tuple[str, ...]]:
    """The commands of an action in the shell of a build, where everything runs as root and nobody answers."""
    if action.words:
        return [tuple(quoted(word) for word in unattended(action.words))]
    into = ">>" if action.append else ">"
    return [("printf", "'%s\\n'", *(quoted(line) for line in action.lines), into, quoted(action.file))]


def _without_cache(action: Action) -> Action:
    """pip keeps what it downloaded, which an image has no use for."""
    words = action.words
    if words[1:4] == ("-m", "pip", "install"):
        return replace(action, words=(*words[:4], "--no-cache-dir", *words[4:]))
    return action
