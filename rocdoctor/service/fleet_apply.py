"""Acting on a scheduler: the only part of the fleet that changes anything, each call in a journal before it is made."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rocdoctor.fleet.acting import ActionLimits, ActionPlan, Drained, EngineCall, EngineNode, plan, undone
from rocdoctor.fleet.engines import ENGINES, SLURM, FleetEngine
from rocdoctor.fleet.kept_files import DAMAGED
from rocdoctor.fleet.verdicts import FleetVerdict
from rocdoctor.host.base import Answer
from rocdoctor.host.live.only_one import only_one
from rocdoctor.host.live.regular_files import open_regular
from rocdoctor.insight.texts.log_events import duration
from rocdoctor.model.lazy_re import regex
from rocdoctor.service.errors import UsageError

_LIMIT_S = 60.0
_MOST_JOURNAL = 64 << 20
_OLDEST_S = 3600
_HOST, _PORT = regex(r"[A-Za-z0-9.:-]{1,255}"), regex(r"\d{1,5}")
Run = Callable[[list[str]], Answer]
"""Runs a program of the engine and gives what it printed."""


def run_engine(argv: list[str]) -> Answer:
    """The program of this machine, with a deadline."""
    from rocdoctor.host.live.programs import child_environment, find_program, refusal, weak_code
    from rocdoctor.host.live.run_program import run_bounded
    from rocdoctor.host.live.settings_code import named_code
    from rocdoctor.host.live.trust import weak

    environment = {**child_environment(), "LC_ALL": "C"}
    for name in {name for one in ENGINES.values() for name in one.settings}:
        value = os.environ.get(name, "")
        for path in filter(None, value.split(os.pathsep)):  # it names code: plugins, programs that log kubectl in
            if why := weak(os.path.abspath(path)) or named_code(os.path.abspath(path), weak_code):
                return Answer(argv[0], "absent", note=f"${name}: {why}, and root runs no code of others")
        if value:
            environment[name] = value
    # By these kubectl in a pod finds the API server (client-go rest/config.go); neither is code.
    for name, plain in (("KUBERNETES_SERVICE_HOST", _HOST), ("KUBERNETES_SERVICE_PORT", _PORT)):
        if plain.fullmatch(value := os.environ.get(name, "")):
            environment[name] = value
    program = find_program(argv[0])
    if program is None:
        return Answer(argv[0], "absent", note=refusal(argv[0]) or f"{argv[0]} is not installed here")
    return run_bounded(f"run {' '.join(argv)}", [program, *argv[1:]], _LIMIT_S, environment)


def answered(argv: list[str], run: Run = run_engine) -> str:
    """All that a program of an engine printed; UsageError where it failed."""
    answer = run(argv)
    if not answer.ok or answer.exit_code != 0 or not answer.complete:
        said = " ".join(answer.text.split())[:200] or answer.note or answer.status
        where = "run this where it does, or name another engine with --on"
        raise UsageError(f"{argv[0]} did not answer: {where}. It said: {said}")
    return answer.text


class Acting:
    """A store's verdict against an engine; one at a time, whoever calls."""

    def __init__(self, folder: Path, run: Run = run_engine, on: FleetEngine = SLURM) -> None:
        self.folder, self.run, self.on = folder, run, on

    def planned(self, found: FleetVerdict, limits: ActionLimits, now: int) -> ActionPlan:
        """What would be done; asks and changes nothing. Raises UsageError, also for a round that is too old."""
        if now - found.at > _OLDEST_S:
            raise UsageError(f"the last round is {duration(now - found.at)} old: run fleet tick with new records first")
        if limits.suspects and not self.on.suspects:
            raise UsageError(f"{self.on.name} cannot set suspects aside: leave out --suspects")
        journal = self.journal()
        engine = self._nodes(journal)
        if not engine:
            raise UsageError(f"{self.on.name}: {self.on.ask[0]} named no node")
        out = {one.name for one in engine if one.out or one.aside}
        mine = tuple(sorted(out & {one.node for one in journal}))
        boots = self.on.booted(self._asked(self.on.ask_boot(mine)), found) if mine else {}
        return plan(found, engine, journal, limits, now, boots)

    def apply(self, found: FleetVerdict, limits: ActionLimits, now: int | None = None) -> tuple[ActionPlan, list[str]]:
        """Plan anew under the lock, and do it; (the plan, what failed). Raises UsageError."""
        with self._locked():
            at = int(time.time()) if now is None else now
            chosen = self.planned(found, limits, at)
            return chosen, self._done(chosen.calls, at)

    def undo(self, do: bool = True) -> tuple[list[EngineCall], list[str]]:
        """Bring back what the last apply took out, as far as its reasons are still ours; (the calls, what failed)."""
        with self._locked():
            journal = self.journal()
            last = [one for one in journal if one.at == journal[-1].at]  # in order, whatever clocks said
            calls = undone(last, self._nodes(journal))
            return calls, self._done(calls if do else [], int(time.time()))

    def _nodes(self, journal: Sequence[Drained]) -> list[EngineNode]:
        """What the engine says of its nodes, also of those that were set aside if any ever was."""
        engine = self.on.nodes_of(self._asked(list(self.on.ask)))
        if not self.on.ask_aside or not any(one.aside for one in journal):
            return engine
        apart = self.on.asides(self._asked(list(self.on.ask_aside)))
        return [replace(one, aside=apart.get(one.name, ())) for one in engine]

    def journal(self) -> list[Drained]:
        """Our drains, in order. A line that was cut in the middle of its writing is none."""
        path = self.folder / "actions.jsonl"
        found: list[Drained] = []
        try:
            with open_regular(path) as stream:
                text = stream.read(_MOST_JOURNAL).decode("utf-8", errors="replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}") from None
        for line in text.splitlines():
            with contextlib.suppress(*DAMAGED):
                one = json.loads(line)
                action, reason, at = one["action"], str(one["reason"]), int(one["at"])
                if action in ("drain", "aside"):
                    found += [Drained(str(node), reason, at, action == "aside") for node in one["nodes"]]
        return found

    def _done(self, calls: Sequence[EngineCall], at: int) -> list[str]:
        failed: list[str] = []
        for call in calls:
            self._write({"action": call.action, "nodes": list(call.nodes), "reason": call.reason, "at": at})
            for argv in self.on.commands(call):
                answer = self.run(argv)
                if not answer.ok or answer.exit_code != 0:
                    said = " ".join(answer.text.split())[:200] or answer.note or answer.status
                    failed.append(f"{argv[0]} {argv[1]} {argv[2][:80]}: {said}")
        return failed

    def _write(self, entry: dict[str, object]) -> None:
        path = self.folder / "actions.jsonl"
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(path, flags, 0o600)
            try:
                size = os.fstat(descriptor).st_size
                # A line that was cut must not take this one with it: a drain that is not known counts in no cap.
                cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                line = (b"\n" if cut else b"") + json.dumps(entry).encode() + b"\n"
                if os.write(descriptor, line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}; nothing more was changed") from None

    def _asked(self, argv: list[str]) -> str:
        return answered(argv, self.run)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(only_one(self.folder / "actions.lock"))
            except BlockingIOError:
                raise UsageError("another fleet apply is running on this store") from None
            except OSError as error:
                raise UsageError(f"{self.folder}: {error.strerror or error}") from None
            yield
