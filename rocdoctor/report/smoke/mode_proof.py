"""What a mode of the smoke tests shows: what is computed, against which reference, what may differ and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocdoctor.report.document import GAP, Block, Heading, Para, Row, Strong
from rocdoctor.train.smoke.worker.mode import Mode
from rocdoctor.train.smoke.worker.tolerance import GPU_FACTOR, Tolerance

_COLUMN = 10


def document(modes: Sequence[Mode]) -> tuple[Block, ...]:
    """One part a mode."""
    blocks: list[Block] = []
    for mode in modes:
        if mode.proof is None:
            continue
        blocks += [GAP] if blocks else []
        blocks.append(Heading((Strong(mode.name), f": {mode.title}")))
        blocks.append(Row("Computed", f"{mode.proof.computed}.", "  ", _COLUMN))
        blocks.append(Row("Against", f"{mode.proof.against}.", "  ", _COLUMN))
        blocks += [Para("Allowed differences:", "  ")] if mode.proof.tolerances else []
        blocks += [
            Para((Strong(_sentence(one.of)), f": {amount(one)}. {_sentence(one.why)}."), "    ", "      ", item=True)
            for one in mode.proof.tolerances
        ]
    return tuple(blocks)


def amount(one: Tolerance) -> str:
    """The number in words."""
    if not one:
        return "no difference at all"
    more = f" ({float(one) * GPU_FACTOR:.3g} on GPUs)" if one.scaled else ""
    return f"{float(one):.3g} {one.unit}{more}"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def as_json(modes: Sequence[Mode]) -> dict[str, Any]:
    """The same under ``rocdoctor.proofs/1``."""
    rows = [
        {
            "mode": mode.name,
            "title": mode.title,
            "computed": mode.proof.computed,
            "against": mode.proof.against,
            "tolerances": [_row(one) for one in mode.proof.tolerances],
        }
        for mode in modes
        if mode.proof is not None
    ]
    return {"schema": "rocdoctor.proofs/1", "proofs": rows}


def _row(one: Tolerance) -> dict[str, Any]:
    factor = GPU_FACTOR if one.scaled else 1.0
    return {"of": one.of, "value": float(one), "gpu_value": float(one) * factor, "unit": one.unit, "why": one.why}
