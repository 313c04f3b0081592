"""From what was seen to the layer: each piece of evidence leaves some layers possible, and all together narrow. Pure.

What separates neighbours: a kernel or a bit spoils what one rank computes by itself, also with nothing around it; a
library or a link spoils what comes, also of exact values with no training around them; what is right by itself in both,
and wrong in every tensor from the first step on, was asked for wrongly, which is the framework's. What happened once
(a few values, a later step) does not come again, and stays with the place where it was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from rocdoctor.parsers.own.smoke_results import Layer

OWN = ("input", "local")
# Modes whose own part is the usual model in fp32, and whose exchanges are among all ranks, as in a second look: only of
# these what is right there says that the parts are right. Others have kernels, shapes or groups that it does not try.
SAME_PARTS = frozenset(
    (
        "ddp",
        "ddp-no-sync",
        "ddp-fp16-hook",
        "ddp-bf16-hook",
        "ddp-powersgd",
        "post-local-sgd",
        "zero-1",
        "ddp-grad-scaler",
        "ddp-longer",
        "fsdp2",
        "fsdp2-no-reshard",
        "fsdp2-checkpointing",
        "fsdp2-longer",
        "fsdp1",
        "fsdp1-grad-op",
    )
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of the first wrong comparison.

    ``told``: the layer that the comparison itself knows; ``whole``: no value of the tensor is right; ``every``: nor of
    any tensor there. Of a second look (None: there was none): ``work``, whether the own part of those that are wrong is
    right by itself; ``exchanges``, whether all exchanges are right by themselves, on all ranks.
    """

    stage: str
    step: int = 0
    everyone: bool = False
    several: bool = True
    on_gpus: bool = False
    told: str = ""
    whole: bool = False
    every: bool = False
    work: bool | None = None
    exchanges: bool | None = None


_Row = tuple[str, Callable[[Seen], bool], tuple[Layer, ...]]

# In this order; a row that would leave nothing does not count. Of what is left, the first of its row is said.
EVIDENCE: tuple[_Row, ...] = (
    ("computed alike wrongly by all", lambda one: one.stage in OWN and one.everyone, ("framework",)),
    ("computed by one rank itself", lambda one: one.stage in OWN, ("device", "framework")),
    (
        "after a step whose end was right",
        lambda one: one.stage == "before" and one.step > 0 and not one.everyone,
        ("device",),
    ),
    ("nobody else is there", lambda one: not one.several and one.stage not in OWN, ("device", "framework")),
    ("brought by an exchange", lambda one: one.several and one.stage not in OWN, ("collectives", "link", "framework")),
    ("wrong by itself too", lambda one: one.stage in OWN and one.work is False, ("device",)),
    (
        "right by itself, and wrong as a whole from the first step on",
        lambda one: one.stage in OWN and one.work is True and one.every and not one.step,
        ("framework",),
    ),
    ("an exchange by itself is wrong too", lambda one: one.exchanges is False, ("collectives", "link")),
    (
        "all exchanges by themselves are right, and all ranks have it wrong as a whole",
        lambda one: one.exchanges is True and one.everyone and one.whole,
        ("framework",),
    ),
    (
        "all exchanges by themselves are right, and no tensor is, from the first step on",
        lambda one: one.exchanges is True and one.every and not one.step,
        ("framework",),
    ),
    (
        "one of several GPUs got it",
        lambda one: one.on_gpus and one.stage not in OWN and not one.everyone,
        ("link", "framework", "device"),
    ),
)


def layer_of(seen: Seen, evidence: Sequence[_Row] = EVIDENCE) -> tuple[Layer, str]:
    """(layer, the words of the row that left no other, where a second look did)."""
    if seen.told:  # not all devices break alike
        layer: Layer = cast(Layer, seen.told) if seen.told in get_args(Layer) else ""
        return ("framework" if seen.everyone and seen.several and layer == "device" else layer), ""
    possible: tuple[Layer, ...] = ()
    decided = ""
    for words, holds, layers in evidence:
        if not holds(seen):
            continue
        left: tuple[Layer, ...] = tuple(one for one in layers if one in possible) if possible else layers
        if left and left != possible:
            decided = words if possible else ""
            possible = left
    asked = "by itself" in decided or "by themselves" in decided
    return (possible or ("framework",))[0], decided if asked else ""
