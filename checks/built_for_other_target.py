"""The name of an installed build shows that it was made for a different GPU target.

Why
  Archives of llama.cpp, AMD's wheel indexes and images carry the target, or the family of targets, in their names:
  win-hip-x64-gfx1030, gfx110X-dgpu, gfx1151. They have code for these only. On another GPU the first kernel fails, the
  program dies without a message, or it falls back to the CPU.

Fix
  Use the file, index or image of the GPU's own target or family.

References
  https://github.com/ROCm/TheRock/blob/main/RELEASES.md
  https://github.com/ggml-org/llama.cpp/releases
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import said, shown, training_gfx, training_gpus, when_said
from rocdoctor.insight.texts.symptoms import crashes, failures
from rocdoctor.judging.check import Fix, Outcome, check, error, unknown
from rocdoctor.model.facts import Machine

_KIND = "built-for-target"
# Families of ROCm/TheRock cmake/therock_amdgpu_targets.cmake (2026-08-22), read 2026-11-24; without a suffix a family
# is taken in its widest sense.
_FAMILIES = {
    "gfx101X": ("gfx1010", "gfx1011", "gfx1012"),
    "gfx103X": ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    "gfx110X": ("gfx1100", "gfx1101", "gfx1102", "gfx1103"),
    "gfx115X": ("gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    "gfx120X": ("gfx1200", "gfx1201"),
    "gfx94X": ("gfx942",),
}
_OF_FAMILY = {
    "gfx103X-dgpu": ("gfx1030", "gfx1031", "gfx1032", "gfx1034"),
    "gfx103X-igpu": ("gfx1033", "gfx1035", "gfx1036"),
    "gfx110X-dgpu": ("gfx1100", "gfx1101", "gfx1102"),
    "gfx110X-igpu": ("gfx1103",),
}


@check(when_said(_KIND), cause="gpu-arch-not-built")
def built_for_other_target(machine: Machine) -> Outcome:
    here = training_gfx(machine)
    if not here:
        raise unknown("the target of the GPU is not in this evidence")
    named = said(machine, _KIND)
    built = [str(message.values.get("target", "")) for message in named]
    targets = [_targets(one) for one in built]
    if not targets or not all(targets) or any(gfx in some for some in targets for gfx in here):
        return None
    failed = crashes(machine) or failures(machine)
    if not failed:
        return None
    name = training_gpus(machine)[0].label
    return error(
        f"By its name, what was installed is built for {built[0]}, but this GPU ({name}) is {here[0]}: it has no "
        "code for this GPU.",
        evidence=(*shown(named)[:1], *shown(failed)[:1]),
        fix=Fix(
            f"Use the archive, wheel index or image for {here[0]} (or its family), or build from source with this "
            "target",
            command="rocminfo | grep gfx",
        ),
        confidence="likely",
        explains=("no-kernel-image-message", "missing-shared-library"),
    )


def _targets(name: str) -> tuple[str, ...]:
    """The targets that a name stands for; none for a family that is not in the table."""
    if name in _OF_FAMILY:
        return _OF_FAMILY[name]
    base = name.partition("-")[0]
    return _FAMILIES.get(base, () if base.endswith("X") else (base,))
