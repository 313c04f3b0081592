"""What a planted fault really changed, as the process that it is planted in sees it.

Only where a file ``.acted`` lies beside the one that ROCDOCTOR_PLANT names: a line of JSON for each of the first few
times that a fault acts, with the rank, the mode, the largest difference that it made, and the largest of the right
values.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

_MOST = 4
_told: dict[tuple[str, str], int] = {}


def acted(name: str, was: Any = None, now: Any = None, **more: Any) -> None:
    """The fault ``name`` has just made ``now`` of what should be ``was``."""
    path = Path(os.environ["ROCDOCTOR_PLANT"]).with_suffix(".acted")
    mode = os.environ.get("ROCDOCTOR_SMOKE_MODE", "")
    if not path.exists() or _told.get((name, mode), 0) >= _MOST:
        return
    _told[name, mode] = _told.get((name, mode), 0) + 1
    line: dict[str, Any] = {"fault": name, "rank": dist.get_rank(), "mode": mode, **more}
    if was is not None and now is not None:
        one, two = (_numbers(each) for each in (was, now))
        differs = (one - two).abs()
        line["off_by"] = float(differs.max()) if differs.numel() else 0.0
        line["of"] = float(one.abs().max()) if one.numel() else 0.0
        line["values"] = int((differs != 0).sum())
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")


def _numbers(value: Any) -> Any:
    held = getattr(value, "_local_tensor", value)
    return torch.as_tensor(held).detach().double().reshape(-1)
