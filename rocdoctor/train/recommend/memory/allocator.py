"""What torch's caching allocator holds beyond what lives.

It hands out blocks of segments and joins free ones within a segment alone, so tensors of many sizes that come and go
leave gaps. Two figures: with how much a step still runs, since cached segments are given back before anything fails,
and what is held where there is room. They differ by the program: torchtitan starts with growing segments
(``PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`` of its run_train.sh), the Trainer and what builds on it do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocdoctor.train.recommend.model.spec import Work


def needed(work: Work, table: Mapping[str, Any]) -> float:
    """Of what comes and goes, the share with which a step runs; ``table`` is ``memory`` of the efficiency table."""
    shares = table["reserved_over_live"]
    named = work.framework if work.framework in shares else "eager"
    return float(shares["compiled" if work.compile else named]["v"])


def with_room(work: Work, table: Mapping[str, Any]) -> float:
    """The same as it is held where nothing is short: logits in two types, which come and go whole, leave the most."""
    least = needed(work, table)
    if not work.transformers or work.compile or work.framework not in ("ddp", "fsdp1", "fsdp2"):
        return least
    kind = "whole_logits" if work.loss == "plain" else "no_logits"
    row = table["held_with_room"]["fsdp1" if work.framework == "fsdp1" else "trainer"]
    return max(least, float(row[kind]["v"]))


def idle_segments(work: Work) -> float:
    """Bytes that tensor parallelism of plain PyTorch leaves reserved when its layers are done.

    Every layer gathers its whole input and sums a whole output before that is divided again: two tensors, whose
    segments are too small for the logits that come next (the allocator splits segments and joins none). Overlapped
    with the products, both lie in symmetric memory, which the allocator does not hold: in the two runs of torchtitan
    that differ in this alone (70B, tp 8) they are 4.0 GiB, and 4.3 GiB were measured.
    """
    plan = work.parallel
    inside = work.framework == "fsdp2" and plan.tp > 1 and plan.sequence and not plan.async_tp
    return 4.0 * work.tokens * work.model.hidden if inside else 0.0
