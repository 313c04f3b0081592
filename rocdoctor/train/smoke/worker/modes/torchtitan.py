"""torchtitan: says why it is not tried, so that nobody takes its absence for a pass."""

from __future__ import annotations

from typing import Any

from .. import torchrun
from ..mode import Launch, Mode, ModeNotApplicable
from ..tolerance import Proof

ORDER = 250


def _never(_: Any) -> None:
    raise ModeNotApplicable(_needs(0, "", "cuda"))


def _needs(_: int, __: str, device: str) -> str:
    if device == "cpu":
        return "torchtitan has no CPU device: without a GPU it takes CUDA for granted (torchtitan 0.3.0)"
    return (
        "torchtitan brings model, data and loop of its own, which is not compared with one process here; the modes "
        "fsdp2, tensor-parallel, pipeline-1f1b and pp-fsdp-tp try what it is built on"
    )


MODES = (
    Mode(
        "torchtitan",
        "torchtitan",
        _never,
        Proof("nothing: the mode says why it is not tried", "nothing", ()),
        full=True,
        launch=Launch(torchrun.command, packages=("torchtitan",), needs=_needs),
    ),
)
