"""Verifying a fix where it stands: the check again on a fresh look at the machine, or the fix's own command. No screen.

Commands run through the host, as every question does: an argument list without a shell, with a deadline, masked. Only
programs that are known to look and not to change anything are run, and only when the person has seen the command.
"""

from __future__ import annotations

import re
import shlex
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rocdoctor.host.base import Answer, Host, Kind, run
from rocdoctor.host.live.patience import TORCH_S, imports_torch
from rocdoctor.model.finding import Verdict
from rocdoctor.model.lazy_re import regex
from rocdoctor.tui.findings.details import reads_itself
from rocdoctor.tui.findings.findings_list import FindingsRow

# "check": the check again; "program": also the command, here; "shell": the command is for a shell; "elsewhere": this
# evidence is not of a live machine.
Way = Literal["check", "program", "shell", "elsewhere"]

_CHECK = regex(r"rocdoctor check ([a-z0-9]+(?:-[a-z0-9]+)*)")
# A quoted part without anything that a shell would expand in it; outside of quotes only plain words.
_QUOTED = regex(r"'[^'\n]*'|\"[^\"$`\\!\n]*\"")
_PLAIN = regex(r"[A-Za-z0-9 _./:=,+@%-]*")
_PYTHON = regex(r"(?:[\w./-]*/)?python3?(?:\.\d+)?")
# Programs that only look, where their first argument and the others are like this.
_ANY, _NONE = r"[^\n]*", r"(?!)"
_LOOKING: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            "rocminfo",
            "lspci",
            "lsmod",
            "ls",
            "cat",
            "free",
            "df",
            "id",
            "nproc",
            "uname",
            "printenv",
            "lscpu",
            "grep",
            "ibstat",
            "sinfo",
        ),
        (_ANY, _ANY),
    ),
    **dict.fromkeys(("nvcc", "hipcc", "cc", "gcc", "c++", "g++", "clang"), ("--version", _NONE)),
    "nvidia-smi": (r"-q|-L|nvlink|topo|--query-[a-z-]+=\S+", r"-d|-x|-s|-m|-i|\d+|[A-Z_,]+|--status|--format=\S+"),
    "rocm-smi": (r"--show[a-z]+", r"--show[a-z]+|--json|-d|\d+"),
    "amd-smi": (r"static|metric|list|topology|version|firmware|bad-pages", r"--[a-z-]+|-g|\d+"),
    "sysctl": (r"[a-z0-9_.]+", _NONE),
    "ip": (r"-br", r"addr|link"),
    "dkms": (r"status", _NONE),
    "apt-cache": (r"policy", r"[a-z0-9.+-]+"),
}
_LATER = {
    "new-login": "The fix takes effect at the next login: log out and in, and start rocdoctor again; until "
    "then, it still sees the old state.",
    "reboot": "The fix takes effect after a reboot; until then, rocdoctor still sees the old state.",
}
_ITSELF = (
    "Variables, limits and groups are those that this rocdoctor was started with: a fix made "
    "elsewhere since then shows only if you start rocdoctor again there."
)


@dataclass(frozen=True, slots=True)
class VerifyPlan:
    """How a fix can be verified: ``command`` as the finding names it, ``check`` to judge anew, what to know before."""

    way: Way
    command: str
    check: str
    argv: tuple[str, ...] = ()
    before: tuple[str, ...] = ()

    @property
    def patience_words(self) -> str:
        """How long the command may take, where that is longer than usual; "" otherwise."""
        return torch_words(self.command) if self.argv else ""

    @property
    def asks_first(self) -> bool:
        """Whether the person should read something, and press the key again."""
        return self.way in ("elsewhere", "program", "shell") or bool(self.before)


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """What came of it: the check's verdicts before and after, and what the command said."""

    plan: VerifyPlan
    before: tuple[Verdict, ...] = ()
    after: tuple[Verdict, ...] = ()
    output: Answer | None = None
    problem: str = ""


def plan_for(row: FindingsRow, kind: Kind) -> VerifyPlan:
    """The way to verify a finding of some evidence."""
    fix = row.finding.fix if row.finding is not None else None
    command = (fix.verify if fix is not None else "") or f"rocdoctor check {row.check}"
    if kind != "live":
        return VerifyPlan("elsewhere", command, row.check)
    before = [_LATER[fix.effective]] if fix is not None and fix.effective in _LATER else []
    if not before and reads_itself(row):
        before = [_ITSELF]
    named = _CHECK.fullmatch(command)
    if named:
        return VerifyPlan("check", command, named[1], before=tuple(before))
    argv = plain_argv(command)
    return VerifyPlan("program" if argv else "shell", command, row.check, argv, tuple(before))


def plain_argv(command: str) -> tuple[str, ...]:
    """The arguments of a command that may run here; empty for anything that needs a shell, root or a decision."""
    if not _PLAIN.fullmatch(_QUOTED.sub("", command)):
        return ()
    try:
        argv = tuple(shlex.split(command))
    except ValueError:
        return ()
    if not argv or "\n" in command:
        return ()
    if _PYTHON.fullmatch(argv[0]):
        return argv if len(argv) == 3 and argv[1] == "-c" else ()
    if argv[0] not in _LOOKING:
        return ()
    first, rest = _LOOKING[argv[0]]
    looks = [re.fullmatch(first if number == 0 else rest, one) for number, one in enumerate(argv[1:])]
    return argv if all(looks) else ()


def torch_words(command: str) -> str:
    """What to say of a command that imports torch; "" for any other."""
    return f"It imports torch, which may take up to {TORCH_S:g} s." if imports_torch(command) else ""


@dataclass(slots=True)
class VerifyProgress:
    """How far it is; written by the thread that works, read by the screen."""

    cancelled: bool = False
    asked: int = 0
    waiting: str = ""
    began: float = field(default_factory=time.monotonic)
    host: Host | None = None

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self.began

    def cancel(self) -> None:
        """Ask nothing more; a host of its own process is closed, which ends what it runs. Does not wait for it."""
        self.cancelled = True
        if self.host is not None:
            threading.Thread(target=close, args=(self.host,), daemon=True, name="rocdoctor-close").start()


def close(host: Host) -> None:
    """End what a fresh host has running, where it can be ended."""
    one: object = host
    while one is not None:
        closing: Callable[[], None] | None = getattr(one, "close", None)
        if closing is not None:
            closing()
            return
        one = getattr(one, "inner", None)


class WatchedHost:
    """A host whose questions are counted, and no longer asked once nobody waits."""

    def __init__(self, inner: Host, progress: VerifyProgress) -> None:
        self.inner = inner
        self.kind: Kind = inner.kind
        self.origin = inner.origin
        self.progress = progress

    def ask(self, question: str) -> Answer:
        if self.progress.cancelled:
            return Answer(question, "not-asked", complete=False)
        self.progress.asked += 1
        self.progress.waiting = question
        return self.inner.ask(question)

    def prefetch(self, questions: Iterable[str]) -> None:
        if not self.progress.cancelled:
            self.inner.prefetch(questions)

    def available(self) -> tuple[str, ...]:
        return self.inner.available()


def verify(
    plan: VerifyPlan, before: Sequence[Verdict], fresh: Callable[[], Host | None], progress: VerifyProgress
) -> VerifyResult:
    """Do it, in a thread: the command if there is one to run here, then the check on a fresh look."""
    from rocdoctor.collect import collect
    from rocdoctor.judging.diagnose import diagnose
    from rocdoctor.service.errors import UsageError
    from rocdoctor.service.session import chosen_checks

    had = tuple(one for one in before if one.check == plan.check)
    host = fresh()
    if host is None:
        return VerifyResult(plan, had, problem="this machine cannot be asked again from here")
    progress.host = host
    try:
        checks, problems = chosen_checks((plan.check,), ())
        if not checks:
            return VerifyResult(plan, had, problem="; ".join(problems) or f"there is no check {plan.check}")
        watched = WatchedHost(host, progress)
        output = watched.ask(run(*plan.argv)) if plan.way == "program" else None
        after = diagnose(collect(watched), checks).verdicts
        return VerifyResult(plan, had, after, output)
    except UsageError as error:
        return VerifyResult(plan, had, problem=str(error))
    finally:
        close(host)
