"""Which trial speaks for a configuration. Pure."""

from __future__ import annotations

import json
from dataclasses import astuple
from typing import Any

from rocdoctor import __version__
from rocdoctor.train.recommend.fleet.trials import Trial, canonical
from rocdoctor.train.recommend.model.spec import Work


def kind_of(work: Work) -> dict[str, Any]:
    """What configurations have in common whose memory and speed are off alike: the code that runs, and our own."""
    return {
        "estimate": __version__,
        "rate": _rate(work),
        "framework": work.framework,
        "transformers": work.transformers,
        "method": work.method,
        "precision": work.precision,
        "pure_bf16": work.pure_bf16,
        **({"step_in_backward": True} if work.step_in_backward else {}),
        "compile": work.compile,
    }


def _rate(work: Work) -> float:
    """The rate of products in TFLOPS that the estimate begins with: a ratio to it says nothing of another."""
    return round((work.gpu.measured or work.gpu.peak or 0.0) / 1e12, 1)


def plan_of(work: Work) -> dict[str, Any]:
    """Everything that decides the memory of a configuration: two that agree here are the same."""
    model, sizes = work.model, work.parallel
    return {
        **kind_of(work),
        "model": [
            model.layers,
            model.hidden,
            model.heads,
            model.kv_heads,
            model.head_dim,
            model.ffn,
            model.vocab,
            model.gated,
            model.tied,
            model.norm,
        ],
        "gpus": work.gpus,
        "seq": work.seq,
        "micro_batch": work.micro_batch,
        "accumulates": work.microbatches > 1,
        "parallel": list(astuple(sizes)),
        "recompute": work.recompute,
        "recompute_layers": work.recompute_layers,
        "attention": work.flash,
        "loss": work.loss,
        "optimizer": work.optimizer,
        "lora_rank": work.lora_rank if work.method != "full" else None,
    }


def exact(work: Work) -> Trial | None:
    """The latest trial of this very configuration."""
    wanted = canonical(plan_of(work)) if work.gpu.trials else ""
    return next((one for one in reversed(work.gpu.trials) if one.plan == wanted), None)


def alike(work: Work) -> Trial | None:
    """The trial of its kind whose memory was furthest above the estimate: the others of the kind may be there too."""
    wanted = canonical(kind_of(work)) if work.gpu.trials else ""
    return max((one for one in work.gpu.trials if one.kind == wanted), key=lambda one: one.reserved, default=None)


def nearest(work: Work) -> Trial | None:
    """The trial that says most of the speed: this configuration, its kind, else the latest."""
    kinds = [(one, json.loads(one.kind)) for one in work.gpu.trials if one.speed is not None]
    now = {"estimate": __version__, "rate": _rate(work)}
    told = [one for one, kind in kinds if all(kind.get(key) == value for key, value in now.items())]
    if not told:
        return None
    plan, kind = canonical(plan_of(work)), canonical(kind_of(work))
    return max(enumerate(told), key=lambda at: (at[1].plan == plan, at[1].kind == kind, at[0]))[1]
