"""Limits of the session: locked memory, open files, shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.model.change import Command
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.finding import Evidence, Finding
from rocdoctor.model.units import binary_size
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import actions_of, by_hand, changes_of, effect_of, sentence

LAYER: Layer = "limits"

_FSTAB = "To keep it, give /dev/shm that size in /etc/fstab: tmpfs /dev/shm tmpfs defaults,size=8G 0 0."


def steps(situation: Situation) -> Sequence[Step]:
    """The limits that a check judges here; a container gets them when it is started."""
    found = [_memlock(situation), _nofile(situation), _shm(situation)]
    return [step for step in found if step is not None]


def _memlock(situation: Situation) -> Step | None:
    check, title = "memlock-low", "No limit on locked memory (RDMA)"
    found, fact = situation.finding(check), situation.machine.user.memlock_bytes
    if found is None:
        if not situation.passed(check) or not isinstance(fact, Known):
            return None
        shown = "unlimited" if fact.value is None else binary_size(fact.value)
        return Step(
            "memlock",
            title,
            "done",
            f"Locked memory: {shown}.",
            (cite(fact, shown),),
            verify=Verify(check),
        )
    if situation.caretaker or situation.distribution is None:
        return _outside(situation, "memlock", title, found, check)
    limits = install.node_needs(situation.distribution).limits
    actions = actions_of([limits])
    step = Step(
        "memlock",
        title,
        "todo",
        sentence(found.message),
        found.evidence,
        actions,
        changes_of(actions),
        "safe",
        "new-login",
        Verify(check),
        (Action(words=("rm", "-f", limits.file or ""), root=True),),
        notes=("A service that starts jobs (Slurm) has its own limit: LimitMEMLOCK=infinity in its unit file.",),
        sources=limits.sources,
        table=limits.table,
        kind=limits.kind,
        optional=found.severity == "info",
    )
    later = situation.machine.later.limits
    if value_or(later, {}).get("memlock") not in ("unlimited", "-1", "infinity"):
        return step
    note = "It is set, and takes effect at the next login."
    return replace(
        step,
        state="waiting",
        actions=(),
        evidence=(*step.evidence, cite(later, "memlock unlimited")),
        notes=(note, *step.notes),
    )


def _nofile(situation: Situation) -> Step | None:
    check, title = "nofile-low", "A high enough limit on open files"
    found, fact = situation.finding(check), situation.machine.user.nofile
    if found is None:
        if not situation.passed(check) or not isinstance(fact, Known):
            return None
        shown = "unlimited" if fact.value is None else str(fact.value)
        return Step(
            "nofile", title, "done", f"A process can open {shown} files.", (cite(fact, shown),), verify=Verify(check)
        )
    return _outside(situation, "nofile", title, found, check)


def _shm(situation: Situation) -> Step | None:
    check, title = "shm-too-small", "Enough shared memory (/dev/shm)"
    found, fact = situation.finding(check), situation.machine.memory.shm_bytes
    if found is None:
        if not situation.passed(check) or not isinstance(fact, Known):
            return None
        evidence: tuple[Evidence, ...] = (cite(fact, binary_size(fact.value)),)
        return Step("shm", title, "done", f"/dev/shm holds {binary_size(fact.value)}.", evidence, verify=Verify(check))
    remount = (
        next((one for one in found.fix.changes if isinstance(one, Command)), None) if found.fix is not None else None
    )
    if situation.caretaker or remount is None:
        return _outside(situation, "shm", title, found, check)
    return Step(
        "shm",
        title,
        "todo",
        sentence(found.message),
        found.evidence,
        (Action(words=remount.words, root=True),),
        (),
        "safe",
        "now",
        Verify(check),
        notes=("It lasts until the next restart.", _FSTAB),
        optional=found.severity == "info",
    )


def _outside(situation: Situation, step_id: str, title: str, found: Finding, check: str) -> Step:
    """What the start of the job or of the container decides."""
    notes = [f"For example: {found.fix.command}"] if found.fix is not None and found.fix.command else []
    if situation.caretaker and not situation.enclosed:
        notes.append(f"The limit itself is set by {situation.caretaker}.")
    return by_hand(step_id, title, found, check, effect_of(found), notes, optional=found.severity == "info")
