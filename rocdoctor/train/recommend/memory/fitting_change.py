"""The smallest change that would make a configuration fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.fit import fits
from rocdoctor.train.recommend.memory.gpu_memory import memory
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.speed.pipeline import schedule


def _single(work: Work) -> Iterator[tuple[str, Work]]:
    """Changes by what they cost the user: nothing, some speed, a smaller batch, another setup."""
    plan = work.parallel
    if work.loss == "plain":
        yield "fused_ce: liger", replace(work, loss="fused")
    if work.micro_batch > 1:
        size = work.micro_batch // 2
        while size:
            yield f"micro_batch: {size}", _smaller(work, size)
            size //= 2
    if work.recompute != "full" or work.recompute_layers is not None:
        yield "recompute: full", replace(work, recompute="full", recompute_layers=None)
    group = plan.dp * plan.cp
    if plan.zero < 3 and group > 1 and plan.pp == 1 and work.framework in {"ddp", "deepspeed"}:
        sharded = replace(plan, zero=3, shard=group)
        framework = work.framework if work.framework == "deepspeed" else "fsdp2"
        yield f"parallel: fsdp {group}", replace(work, parallel=sharded, framework=framework)
    if work.optimizer == "adam" and work.method == "full":
        yield "optimizer: adamw_8bit", replace(work, optimizer="adam8bit")


def _smaller(work: Work, size: int) -> Work:
    return replace(work, micro_batch=size, microbatches=work.microbatches * -(-work.micro_batch // size))


def smallest_change(work: Work, table: Mapping[str, Any]) -> str | None:
    """One change that makes it fit, the cheapest first, else all of the memory savers together; None when neither does.

    ``table`` is ``memory`` of the efficiency table.
    """

    def tried(one: Work) -> tuple[str, float]:
        plan = one.parallel
        found = memory(one, schedule(plan.schedule, plan.pp, plan.chunks, one.microbatches), table)
        return fits(found, one.gpu), found.high / GIB

    for words, one in _single(work):
        verdict, high = tried(one)
        if verdict == "yes":
            return f"it would fit with {words} (at most {high:.1f} GiB)"
    named: list[str] = []
    last = work
    for key in ("fused_ce", "recompute", "parallel", "optimizer", "micro_batch: 1"):
        found = next(((words, one) for words, one in _single(last) if words.startswith(key)), None)
        if found is None:
            continue
        named.append(found[0])
        last = found[1]
        verdict, high = tried(last)
        if verdict == "yes":
            return f"it would fit with {', '.join(named)} together (at most {high:.1f} GiB)"
    return None
