"""What was seen of the GPUs while somebody watched, as a table for other programs. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime

from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.printable import one_line
from rocdoctor.train.smoke.figures.sampler import Reading
from rocdoctor.tui.thermals.live_values import held_down

COLUMNS = (
    "time",
    "gpu",
    "pci_address",
    "hottest_c",
    "nearest_limit_c",
    "limit_c",
    "power_w",
    "power_cap_w",
    "clock_mhz",
    "max_clock_mhz",
    "busy_percent",
    "memory_bytes",
    "pcie_kb_s",
    "xgmi_read_kb",
    "xgmi_written_kb",
    "slowed_by",
)


def as_csv(seen: Iterable[tuple[Gpu, Sequence[Reading]]], since_1970_s: float) -> str:
    """A line for each look at each GPU, oldest first; what is not known is empty.

    ``nearest_limit_c`` is the temperature nearest to its own limit, ``limit_c``. ``pcie_kb_s`` is of both directions
    together; what XGMI read and wrote are counters. ``since_1970_s``: the time at which
    the clock of the readings was 0. Times have the offset of this machine's zone (ISO 8601).
    """
    rows = sorted(((one.at_s, gpu.index, gpu, one) for gpu, series in seen for one in series), key=lambda row: row[:2])
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for at_s, index, gpu, one in rows:
        when = datetime.fromtimestamp(since_1970_s + at_s).astimezone().isoformat(timespec="milliseconds")
        held = held_down((*one.limits, *one.slowed), one.slowed)
        slowed = "; ".join(f"{kind}: {one_line(', '.join(names))}" for kind, names in held.items())
        address = one_line(value_or(gpu.bdf, ""))
        figures = (one.temp_c, one.near_c, one.limit_c, one.power_w, one.cap_w, one.clock_mhz, one.max_clock_mhz)
        moved = (one.pcie_kb_s, one.xgmi_read_kb, one.xgmi_written_kb)
        table.writerow((when, index, address, *figures, one.busy_percent, one.memory_bytes, *moved, slowed))
    return out.getvalue()
