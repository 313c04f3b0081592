"""What is installed and set: ROCm, CUDA, the torch under test, environment variables, what tools and programs said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rocdoctor.model.evidence import NOT_ASKED, Fact, Reason
from rocdoctor.model.subject import Subject

Voice = Literal["program", "words", "reply", "advice"]  # whose words: a program's, somebody's, a reply, advice


@dataclass(frozen=True, slots=True)
class RocmInstall:
    """One ROCm installation."""

    version: Fact[str]
    root: str
    kind: str  # classic, core, distribution, wheel
    packages: Fact[str] = NOT_ASKED
    aliases: tuple[str, ...] = ()  # other names of the same folder, such as the link /opt/rocm


@dataclass(frozen=True, slots=True)
class PackageSource:
    """A source of packages that a list of apt names: ``suite`` is the release that it is made for ("jammy")."""

    path: str
    uri: Fact[str]
    suite: Fact[str]


@dataclass(frozen=True, slots=True)
class CudaToolkit:
    """One CUDA toolkit."""

    version: Fact[str]
    root: str


@dataclass(frozen=True, slots=True)
class TorchDevice:
    """A device as torch saw it in a child process."""

    index: int
    gfx: Fact[str] = NOT_ASKED
    bdf: Fact[str] = NOT_ASKED
    memory_bytes: Fact[int] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """How an interpreter failed to answer; ``step`` is the last one that it began ("import torch"), "" before any."""

    kind: Literal["timeout", "denied", "silent", "flood"]
    step: str = ""
    within: str = ""  # the deadline of a timeout, as "5s"
    path: str = ""  # as it was started


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """The interpreter under test and its torch. ``version`` is Known(None) when torch is not installed there."""

    interpreter: Fact[str] = NOT_ASKED
    python: Fact[str] = NOT_ASKED
    version: Fact[str | None] = NOT_ASKED
    hip: Fact[str | None] = NOT_ASKED
    cuda: Fact[str | None] = NOT_ASKED
    arch_list: Fact[tuple[str, ...]] = NOT_ASKED
    packages: Fact[Mapping[str, str]] = NOT_ASKED  # every relevant distribution: name -> version
    requires_torch: Mapping[str, str] = field(default_factory=dict)  # package -> the torch it demands
    shadowed: tuple[str, ...] = ()  # the same package in two places, or a local file in front of one
    import_error: Fact[str | None] = NOT_ASKED  # Known(None): it imports
    device_count: Fact[int] = NOT_ASKED
    devices: tuple[TorchDevice, ...] = ()
    nccl: Fact[str] = NOT_ASKED
    bundled_rocm: Fact[bool] = NOT_ASKED
    arch_list_complete: bool = False  # what is not in arch_list is not in the build
    torch_requires: Mapping[str, str] = field(default_factory=dict)  # what torch itself demands: triton -> "==3.1.0"
    environment: Fact[str] = NOT_ASKED  # venv, conda, pyenv, uv, nix, system, other: who provides the interpreter
    no_answer: Fact[NoAnswer | None] = NOT_ASKED  # Known(None): the interpreter answered
    externally_managed: Fact[bool] = NOT_ASKED  # pip refuses to install into it (PEP 668)


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable and the place that sets it."""

    name: str
    value: str
    source: str  # the question, a file with line, or "$NAME"
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """Variables by name. With ``complete`` false a name that is not here may still be set."""

    variables: Mapping[str, Variable] = field(default_factory=dict)
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two sources say different things of one fact; the first is the one that counts."""

    subject: Subject
    fact: str
    values: tuple[tuple[str, str], ...]  # (value, source)


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """A tool that was asked and failed, in its own words (bounded)."""

    question: str
    why: str
    text: str = ""
    line: int | None = None
    kind: str = ""  # what it means, where its words are known ("version-mismatch", "gpu-lost")
    bdf: str | None = None  # the device that it names
    reason: Reason = "failed"


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question without a whole answer although there is one; ``cut``: it was longer than what is read."""

    question: str
    reason: Literal["timeout", "failed", "denied", "cut", "not asked"]
    why: str


@dataclass(frozen=True, slots=True)
class Message:
    """A known text of a program in pasted text; ``role``: now, quoted, advice (code and past states too)."""

    kind: str
    line: int
    text: str
    values: Mapping[str, str | int | float] = field(default_factory=dict)
    role: str = "now"
    narrated: bool = False  # in a sentence of the writer ("I get ..."), not as a program prints it


@dataclass(frozen=True, slots=True)
class Told:
    """What a pasted text says in all: ``words`` (lower case) with how often and the line of the first, and sentences.

    Neither holds pages of advice or replies of others; ``sentences`` are the writer's own. ``alone``: the text holds
    nothing but sentences: no output, command or filled-in form.
    """

    words: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines (from 1) of the answer to a question of pasted text, and whose words they are (``words``: sentences)."""

    question: str
    first: int
    last: int
    voice: Voice
