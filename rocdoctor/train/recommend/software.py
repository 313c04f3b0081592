"""What training libraries have for the GPUs of a fleet: attention, precision, 8-bit optimizers, 4-bit weights.

The answers stand in ``knowledge/tables/training_libraries.yaml``, each with its source. What no row decides is unknown.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocdoctor.knowledge.load import load_table, numbers, source, words
from rocdoctor.knowledge.software.compat import series
from rocdoctor.train.recommend.plan import Fleet

_TABLE = "training_libraries"


@dataclass(frozen=True, slots=True)
class SoftwareAnswer:
    """``value`` is a kernel or a type, or ``yes``, ``no``, ``unknown``; with the reason, and where that stands."""

    value: str
    reason: str
    source: str = ""

    @property
    def state(self) -> str:
        """The value, by the name that a question with yes and no has for it."""
        return self.value


# Of Megatron-LM's model code, where any flash kernel is counted on.
ENGINE_ATTENTION = SoftwareAnswer("flash", "Transformer Engine kernels, which store no attention scores")


def attention(fleet: Fleet) -> SoftwareAnswer:
    """The attention kernel to plan with: ``flash`` keeps no scores, ``math`` keeps them all."""
    unknown = "it is not known whether torch has an attention kernel for this GPU, so the plan has room for the scores"
    return _ask(fleet, "attention") or SoftwareAnswer("math", unknown)


def precision(fleet: Fleet) -> SoftwareAnswer:
    """``bf16``, ``fp16`` (with a gradient scaler) or ``fp32``."""
    unknown = "it is not known which types this GPU's matrix units support; bf16 needs no loss scaling on any GPU"
    return _ask(fleet, "precision") or SoftwareAnswer("bf16", unknown)


def eight_bit_optimizer(fleet: Fleet) -> SoftwareAnswer:
    """Whether bitsandbytes has 8-bit optimizers for these GPUs."""
    return _bitsandbytes(fleet, "eight_bit_optimizer", "8-bit optimizers")


def four_bit(fleet: Fleet) -> SoftwareAnswer:
    """Whether bitsandbytes has 4-bit weights for these GPUs."""
    return _bitsandbytes(fleet, "four_bit", "4-bit kernels")


def fp8(fleet: Fleet) -> SoftwareAnswer:
    """Whether the matrix units take 8-bit floating point types."""
    return _ask(fleet, "fp8") or SoftwareAnswer("unknown", "it is not known whether this GPU has 8-bit types")


def _bitsandbytes(fleet: Fleet, question: str, words_of: str) -> SoftwareAnswer:
    if fleet.vendor != "amd":
        return _ask(fleet, question) or SoftwareAnswer(
            "unknown", f"it is not known whether bitsandbytes has {words_of} here"
        )
    table = load_table(_TABLE)["bitsandbytes_rocm"]
    by_series: Mapping[str, list[str]] = table["series"]
    said, gfx = _source(table["s"]), fleet.gfx
    if gfx is None:
        return SoftwareAnswer("unknown", "the target of this GPU is not known", said)
    having = [one for one, targets in by_series.items() if gfx in targets]
    if not having:
        return SoftwareAnswer("no", f"no bitsandbytes wheel has {words_of} for {gfx}; you would have to build it", said)
    old = _older_wheel(fleet, gfx, words_of)
    rocm = series(fleet.software.hip) if fleet.software.hip else ""
    if not rocm:
        which = f"ROCm {having[0]}" if len(having) == 1 else f"ROCm {having[0]} to {having[-1]}"
        return old or SoftwareAnswer("yes", f"bitsandbytes has {words_of} for {gfx} with {which}", said)
    if rocm in having:
        return old or SoftwareAnswer("yes", f"bitsandbytes has {words_of} for {gfx} with ROCm {rocm}", said)
    if rocm in by_series:
        return SoftwareAnswer(
            "no",
            f"the bitsandbytes wheel supports {gfx} with ROCm {', '.join(having)}, but not with ROCm {rocm}",
            said,
        )
    return SoftwareAnswer(
        "unknown",
        f"the bitsandbytes wheel has libraries for ROCm {', '.join(having)}, but none for ROCm {rocm}",
        said,
    )


# The first release of bitsandbytes whose wheels have libraries for ROCm, what they were built for, and the one that the
# table was read of (docs/source/installation.mdx of the tags 0.47.0, 0.48.0, 0.49.2 and 0.50.0, read 2026-11-29).
_FIRST_ROCM, _FIRST_TARGETS, _TABLE_OF = (0, 48), ("gfx90a", "gfx942", "gfx1100"), (0, 50)


def _older_wheel(fleet: Fleet, gfx: str, words_of: str) -> SoftwareAnswer | None:
    """That an installed bitsandbytes is older than the wheels that the table is of; one that was built here may do."""
    version = (fleet.software.packages or {}).get("bitsandbytes", "")
    release = numbers(version)
    if not release or release >= (_TABLE_OF if gfx not in _FIRST_TARGETS else _FIRST_ROCM):
        return None
    lacks = f"nothing for {gfx}" if release >= _FIRST_ROCM else "nothing for ROCm"
    said = f"bitsandbytes {version} is installed, and its wheel may have {lacks}. Update it: 0.50 has {words_of}"
    return SoftwareAnswer("unknown", said, "installation.mdx of the tags of bitsandbytes, read 2026-11-29")


def _ask(fleet: Fleet, question: str) -> SoftwareAnswer | None:
    """The first row of a question that applies."""
    for row in load_table(_TABLE)[question]:
        if _applies(row, fleet):
            reason = row["why"].format(gfx=fleet.gfx, capability=fleet.compute_capability, torch=fleet.software.torch)
            return SoftwareAnswer(row["value"], reason, _source(row["s"]))
    return None


def _applies(row: Mapping[str, Any], fleet: Fleet) -> bool:
    if "vendor" in row and row["vendor"] != fleet.vendor:
        return False
    if "gfx" in row and not any(fleet.gfx and fnmatch.fnmatchcase(fleet.gfx, one) for one in row["gfx"]):
        return False
    capability = numbers(fleet.compute_capability or "")
    if ("capability" in row or "below" in row) and not capability:
        return False
    if "capability" in row and capability < numbers(row["capability"]):
        return False
    if "below" in row and capability >= numbers(row["below"]):
        return False
    if "experimental" in row and row["experimental"] is not fleet.experimental_kernels:
        return False
    # A release that nobody knows is one that will be installed: new.
    release = numbers((fleet.software.torch or "").partition("+")[0])
    return not ("torch" in row and release and release < numbers(row["torch"]))


def _source(ids: Any) -> str:
    found = [one for key in words(ids) if (one := source(_TABLE, key)) is not None]
    return "; ".join(one.what + (" (not verified)" if one.kind == "not-verified" else "") for one in found)
