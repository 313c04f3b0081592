"""Smoke tests on GPUs that a device layer stands in for (``stand_in/layer.py``); those of a capture, or made ones."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rocdoctor.collect import collect
from rocdoctor.model.evidence import value_or
from rocdoctor.parsers.own.smoke_results import SmokeRun
from rocdoctor.train.smoke.run.request import Request, perform
from tests.golden.replay import host_of

_LAYER = Path(__file__).with_name("stand_in")
_MASKS = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def gpus_of(capture: str) -> list[dict[str, Any]]:
    """The GPUs of a recorded machine as torch would name them there."""
    machine = collect(host_of(capture))
    return [
        {
            "name": value_or(one.name, "GPU"),
            "memory_bytes": value_or(one.vram_bytes, 64 << 30),
            "gfx": value_or(one.gfx, None),
            "pci": value_or(one.bdf, None),
        }
        for one in machine.gpus
    ]


class StandIn:
    """A machine with such GPUs; its files lie in ``folder``."""

    def __init__(self, folder: Path, gpus: Sequence[Mapping[str, Any]], cuda: str = "", **more: Any) -> None:
        self._told = folder / "stand_in.json"
        versions = {"cuda": cuda} if cuda else {"hip": "7.2.0"}
        self._told.write_text(json.dumps({"gpus": [dict(one) for one in gpus], **versions, **more}))
        self.environment = {name: value for name, value in os.environ.items() if name not in _MASKS}
        self.environment |= {"PYTHONPATH": str(_LAYER), "ROCDOCTOR_STAND_IN": str(self._told)}

    def run(self, request: Request, **variables: str) -> list[SmokeRun]:
        """Perform a request there."""
        return perform(request, sys.executable, surroundings={**self.environment, **variables})

    def contexts(self) -> list[tuple[str, int, str, int]]:
        """(rank, GPU, mode, process) of each context that was made."""
        path = Path(f"{self._told}.contexts")
        rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return [(rank, int(gpu), mode, int(pid)) for rank, gpu, mode, pid in rows]

    def backends(self) -> list[str]:
        """The back end and the time limit of each process group that was formed."""
        return Path(f"{self._told}.backends").read_text().splitlines()
