"""Commands that a text shows: what was started or installed, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command that starts or installs something; a pod, a service and the head of a batch script count as one.

    ``program``: docker, podman, nerdctl, compose, kubernetes, apptainer, enroot, lxc, pip, uv, conda, apt, dnf, srun,
    sbatch, torchrun, accelerate, deepspeed, mpirun, ray, vllm, sglang, python. ``verb``: run, install, exec ...
    ``options``: without the dashes in front, "-" between words, each with its values; a flag has the value "".
    ``words``: the image, the packages or the script. ``environment``: variables that the command itself gives, None
    where it hands on what it has. ``inside``: the program that starts this one. ``complete`` false: part of the command
    is left out.
    """

    program: str
    verb: str
    line: int
    text: str
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    inside: str = ""
    complete: bool = True

    def value(self, *names: str) -> str | None:
        """The last value of the first of these options that is given; "" for a flag, None where none is."""
        return next((self.options[name][-1] for name in names if self.options.get(name)), None)

    def number(self, *names: str) -> int | None:
        """The value as a whole number below a million."""
        text = self.value(*names)
        return int(text) if text and text.isascii() and text.isdigit() and len(text) < 7 else None

    @property
    def image(self) -> str:
        """The image of a container; "" where none is named."""
        return self.words[0] if self.words else ""
