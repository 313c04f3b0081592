"""An integrated GPU computes in main memory: how much of it the kernel lets it map."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rocdoctor.insight.gpus.presence import is_integrated
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import Evidence
from rocdoctor.model.shell_command import shell
from rocdoctor.model.units import binary_size
from rocdoctor.repair.setup.plan import Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import (
    actions_of,
    changes_of,
    for_caretaker,
    set_for_next_start,
    sources_of,
)

LAYER: Layer = "kernel"  # behind kernel.py by its name: a parameter is for the kernel that will run

_ID = "apu-memory"
_TITLE = "Let the integrated GPU use more of main memory"
_TABLE = "install_apu"
_PAGE = 4096


def steps(situation: Situation) -> Sequence[Step]:
    """One step, where training would use an integrated GPU and both memory and the limit are known."""
    gpus = situation.amd_able
    # MI300A is integrated too, and has its memory to itself.
    mine = [gpu for gpu in gpus if is_integrated(gpu) and value_or(gpu.gfx, "") in install.apu_targets()]
    if situation.wsl or not gpus or len(mine) < len(gpus):
        return ()
    memory = situation.machine.memory
    total, limit = memory.total_bytes, memory.ttm_pages_limit
    if not isinstance(total, Known) or not isinstance(limit, Known):
        return ()
    return for_caretaker(situation, (_step(situation, gpus[0], total, limit),))


def _step(situation: Situation, gpu: Gpu, total: Known[int], limit: Known[int]) -> Step:
    wanted = install.apu_limit(value_or(gpu.gfx, ""), total.value, limit.value)
    may, whole = binary_size(limit.value * _PAGE), binary_size(total.value)
    evidence = (cite(limit, f"{limit.value} pages of 4 KiB, {may}"), cite(total, whole))
    module = "amdttm" if "amdttm" in limit.source.question else "ttm"  # AMD's packaged driver brings its own
    verify = Verify(
        command=shell("cat {path:path}", path=f"/sys/module/{module}/parameters/pages_limit"),
        shows=str(wanted.pages if wanted is not None else limit.value),
        expects=f"^{wanted.pages}$" if wanted is not None else "",
    )
    if wanted is None:
        why = f"The GPU may map {may} of {whole}."
        return Step(_ID, _TITLE, "done", why, evidence, verify=verify, notes=_carve_out(gpu), optional=True)
    why = (
        f"This integrated GPU can use {may} of {whole}; at {wanted.gib} GiB the system keeps "
        f"{binary_size(total.value - wanted.gib * 2**30)}."
    )
    word = f"{module}.pages_limit={wanted.pages}"
    change = install.kernel_parameter(situation.distribution, word)
    return _set(situation, gpu, wanted, change, word, why, evidence, verify)


def _set(
    situation: Situation,
    gpu: Gpu,
    wanted: install.ApuLimit,
    change: install.Change | Unknown,
    word: str,
    why: str,
    evidence: tuple[Evidence, ...],
    verify: Verify,
) -> Step:
    get, give, back = wanted.tool
    notes = [
        f"AMD's own tool does the same with a file in /etc/modprobe.d: {get}, then {give} (undone by {back}).",
        *_carve_out(gpu),
        "Memory is taken from the system only while it is in use. If your model fits already, you do not need this.",
    ]
    if not wanted.named:
        notes.append(f"AMD's page is about RDNA 3.5, but the limit is the kernel's and applies to {_gfx(gpu)} too.")
    if isinstance(change, Unknown):
        by_hand = f"Add {word} to the kernel's command line: {change.why}."
        return Step(
            _ID,
            _TITLE,
            "todo",
            why,
            evidence,
            risk="manual",
            effective="reboot",
            verify=verify,
            notes=(by_hand, *notes),
            sources=wanted.sources,
            table=_TABLE,
            kind=install.weakest(_TABLE, wanted.sources),
            optional=True,
        )
    do, undo = change
    actions = actions_of(do)
    step = Step(
        _ID,
        _TITLE,
        "todo",
        why,
        evidence,
        actions,
        changes_of(actions) or ("the kernel command line",),
        "reboots",
        "reboot",
        verify,
        actions_of(undo),
        notes=tuple(notes),
        sources=wanted.sources,
        table=_TABLE,
        kind=install.weakest("install_kernel", sources_of(do)),
        optional=True,
        proof=tuple(shlex.split(verify.command)),
    )
    later = situation.boots_with(word)
    return step if later is None else set_for_next_start(step, cite(later, word))


def _gfx(gpu: Gpu) -> str:
    return value_or(gpu.gfx, "this GPU")


def _carve_out(gpu: Gpu) -> tuple[str, ...]:
    """AMD's advice on what the firmware sets aside, where that is much."""
    own = value_or(gpu.vram_bytes, 0)
    if not install.large_carve_out(own):
        return ()
    return (
        f"The firmware sets {binary_size(own)} aside as VRAM, which programs on the CPU cannot use. AMD advises less "
        "VRAM (0.5 GB, set in the firmware setup) and a larger limit here.",
    )
