"""Faults of speed: nothing is wrong, one rank is only slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from faults import Active, wrap  # type: ignore[import-not-found, unused-ignore]


def slow_products(active: Active) -> None:
    """Every matrix product of this rank takes 20 ms longer."""

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        if active():
            time.sleep(0.02)
        return original(*args, **keywords)

    wrap(torch, "mm", around)


FAULTS: dict[str, Callable[[Active], None]] = {"slow-products": slow_products}
