"""How often the sensors are looked at, and who does not answer, in a line. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from rocdoctor.judging.subjects import number_ranges
from rocdoctor.model.facts import Gpu
from rocdoctor.model.printable import one_line
from rocdoctor.tui.style import UNKNOWN, WRONG
from rocdoctor.tui.thermals.gpu_users import unrecorded
from rocdoctor.tui.thermals.live_values import Sample
from rocdoctor.tui.thermals.order import Order


def state_line(
    watched: bool,
    sample: Sample | None,
    rate_s: float,
    order: Order,
    trouble: str,
    silent: Mapping[str, float],
    own_c: float | None = None,
) -> Text:
    """``watched``: of a live machine; ``rate_s``: 0 for not at all; ``silent``: who, and for how many seconds.

    ``own_c``: the user's limit of temperatures.
    """
    if not watched:
        ordered = "" if order == "number" else f" Sorted by {order}."
        return Text(f"Recorded values, no history: a recording cannot be read again.{ordered}")
    text = Text()
    if trouble:
        text.append(f"Cannot read the sensors: {one_line(trouble)}. Press n to try again.", style=WRONG)
        return text
    for name, seconds in silent.items():
        text.append(f"no answer from {name} for {seconds:.0f} s. ", style=WRONG)
    if rate_s:
        text.append(f"Reading every {rate_s:g} s; " if rate_s != 1 else "Reading every second; ")
    else:
        text.append("Not reading again (off); ")
    text.append("waiting for the first answer" if sample is None else f"last answer {sample.clock}")
    if order != "number":
        text.append(f"; sorted by {order}")
    if own_c is not None:
        text.append(f"; alarm at {own_c:g} °C")
    return text


def no_values(gpus: Sequence[Gpu]) -> Text:
    """Of a recording without any sensor: one sentence instead of a line for each GPU, and who would tell its users."""
    listed = number_ranges(one.index for one in gpus)
    text = Text(f"This evidence has no sensor values for gpu {listed}.")
    return text.append(f"\nWhich process holds a GPU: {unrecorded(one.vendor for one in gpus)}.", style=UNKNOWN)
