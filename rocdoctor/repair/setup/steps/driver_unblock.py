"""What keeps the amdgpu module from loading: a blacklist, a word of the command line, another driver in its place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocdoctor.insight.gpus.presence import command_line_block
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Unknown, value_or
from rocdoctor.model.finding import Evidence, Finding
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import (
    actions_of,
    by_hand,
    changes_of,
    for_caretaker,
    sentence,
    set_for_next_start,
    sources_of,
)

LAYER: Layer = "driver"

_ID = "driver-unblock"


def steps(situation: Situation) -> Sequence[Step]:
    """One step, where a check found what keeps the driver away from a GPU that could compute."""
    if not situation.amd_able or situation.wsl:
        return ()
    found = situation.finding("driver-module-blacklisted")
    if found is not None and found.about.module == "amdgpu":
        return for_caretaker(situation, (_blacklist(situation, found),))
    wrong = situation.finding("wrong-kernel-driver", "warning")
    if wrong is not None and wrong.fix is not None:
        return for_caretaker(
            situation,
            (
                Step(
                    _ID,
                    "Give the GPU its own driver",
                    "todo",
                    sentence(wrong.message),
                    wrong.evidence,
                    risk="manual",
                    effective=wrong.fix.effective,
                    verify=Verify("wrong-kernel-driver"),
                    notes=(sentence(wrong.fix.text),),
                ),
            ),
        )
    return ()


def _blacklist(situation: Situation, found: Finding) -> Step:
    word = command_line_block(situation.machine, "amdgpu")
    if word is not None:
        return _parameter(situation, found.message, found.evidence, word)
    place = value_or(situation.machine.kernel.blacklisted, {}).get("amdgpu", "")
    file = place.rpartition(":")[0]
    disk = install.initramfs(situation.distribution)
    title, verify = "Let the amdgpu driver load", Verify("driver-module-blacklisted")
    if not re.fullmatch(r"/etc/modprobe\.d/[A-Za-z0-9_.+-]{1,120}", file) or isinstance(disk, Unknown):
        return by_hand(_ID, title, found, "driver-module-blacklisted", "reboot")
    # Only lines that keep amdgpu out are switched off; the rest of the file stays.
    pattern = r"\(blacklist\|install\)[[:space:]]\+amdgpu\([[:space:]]\|$\)"
    cut = Action(words=("sed", "-i", rf"/^[[:space:]]*{pattern}/s/^/# /", file), root=True)
    again = Action(words=("sed", "-i", rf"/^# [[:space:]]*{pattern}/s/^# //", file), root=True)
    actions = (cut, *actions_of(disk))
    return Step(
        _ID,
        title,
        "todo",
        sentence(found.message),
        found.evidence,
        actions,
        (file, "the initial RAM disk"),
        "reboots",
        "reboot",
        verify,
        (again, *actions_of(disk)),
        sources=sources_of(disk),
        table="install_kernel",
        kind=install.weakest("install_kernel", sources_of(disk)),
    )


def _parameter(situation: Situation, message: str, evidence: tuple[Evidence, ...], word: str) -> Step:
    change = install.kernel_parameter(situation.distribution, word, remove=True)
    title, verify = f"Take {word} off the kernel command line", Verify("driver-module-blacklisted")
    if isinstance(change, Unknown):
        return Step(
            _ID,
            title,
            "todo",
            sentence(message),
            evidence,
            risk="manual",
            effective="reboot",
            verify=verify,
            notes=(sentence(change.why),),
        )
    do, undo = change
    actions = actions_of(do)
    step = Step(
        _ID,
        title,
        "todo",
        sentence(message),
        evidence,
        actions,
        changes_of(actions) or ("the boot menu",),
        "reboots",
        "reboot",
        verify,
        actions_of(undo),
        sources=sources_of(do),
        table="install_kernel",
        kind=install.weakest("install_kernel", sources_of(do)),
    )
    later = situation.boots_without(word)
    return step if later is None else set_for_next_start(step, cite(later, f"without {word}"))
