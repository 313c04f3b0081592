"""What the steps of an optimizer have wrong in common: a setting holds for all values, a kernel or a bit for some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# Of steps: those that are told from rounding, as a share of the largest; what is the same share; how many must agree.
_CLEAR_STEP, _SAME_SHARE, _MOST = 0.05, 0.05, 0.9
# Fewer tensors than that are no rule.
_TENSORS = 3


def common_fault(
    torch: Any, pairs: Sequence[tuple[Any, Any]], known: Mapping[str, Sequence[Any]], limit: float = 0.0
) -> str:
    """In words, what all steps (made, right) have wrong in common; empty where that is nothing.

    ``known``: what decides about a step, of each tensor, as the parameter itself. ``limit``: a difference of rounding.
    """
    least = _CLEAR_STEP * _largest([right for _, right in pairs])
    shares = [(made / right)[right.abs() > least] for made, right in pairs]
    shares = [one for one in shares if one.numel()]
    every = torch.cat(shares) if shares else torch.empty(0)
    if every.numel() < 2 or not bool(every.isfinite().all()):
        return ""
    share = float(every.median())
    near = (every - share).abs() <= _SAME_SHARE * max(1.0, abs(share))
    if abs(share - 1) > 2 * _SAME_SHARE and float(near.double().mean()) >= _MOST:
        return "no value was moved by the step" if not round(share, 3) else f"all values made {share:.3g} of the step"
    missed = torch.cat([(made - right).flatten() for made, right in pairs])
    for words, many in known.items():
        if _same_share(torch, missed, torch.cat([one.flatten() for one in many]), limit):
            return f"what all steps miss is the same share of {words}"
    off = [float(((one - 1).abs() > _SAME_SHARE).double().mean()) for one in shares]
    return "no tensor made the right step" if len(off) >= _TENSORS and min(off) >= _MOST else ""


def _same_share(torch: Any, missed: Any, of: Any, limit: float) -> bool:
    """Whether it is one factor times the other, where that is more than rounding."""
    factor = float((missed * of).sum() / (of * of).sum().clamp(min=1e-30))
    clear = (factor * of).abs() > max(_CLEAR_STEP * float((factor * of).abs().max()), 4 * limit)
    if int(clear.sum()) < 2 * _TENSORS:
        return False
    near = (missed / (factor * of) - 1)[clear].abs() <= 2 * _SAME_SHARE
    return float(near.double().mean()) >= _MOST


def _largest(many: Sequence[Any]) -> float:
    return max((float(one.abs().max()) for one in many if one.numel()), default=0.0)
