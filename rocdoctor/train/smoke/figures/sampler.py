"""Temperature, clock, power and throttling while something runs, by a thread of the runner's own.

It asks a host of its own through the usual doors, so a sensor that hangs costs its deadline and nothing else. The
ranks never read sensors: they would measure themselves.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rocdoctor.collect.gpus.sensors import GpuSensors, SensorReader, cpu_sensors
from rocdoctor.host.base import Host
from rocdoctor.host.live.live_host import LiveHost
from rocdoctor.insight.gpus.gpu_health import external_reasons, heat_reasons, nearest_to_limit, readings
from rocdoctor.insight.gpus.traffic import pcie_kb_s
from rocdoctor.insight.links.pcie import bandwidth_gb_s
from rocdoctor.insight.links.pcie_path import capable, slot_links
from rocdoctor.model.evidence import Known, NotKnown, value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.train.smoke.figures.figure_math import Entry, Figures

_INTERVAL_S = 1.0
_BUSY_PERCENT = 50


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at one device (``bdf`` None: the processors). Clocks in MHz; ``link_gb_s`` as the link is now.

    ``slowed``: reasons for low clocks that cost speed: heat and signals from outside. ``limits``: all reasons given.
    ``near_c`` is the temperature that is nearest to its own limit ``limit_c``; both None where no limit is known.
    """

    at_s: float
    bdf: str | None
    busy_percent: float | None = None
    temp_c: float | None = None
    clock_mhz: float | None = None
    max_clock_mhz: float | None = None
    power_w: float | None = None
    cap_w: float | None = None
    link_gb_s: float | None = None
    capable_gb_s: float | None = None
    slowed: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    near_c: float | None = None
    limit_c: float | None = None
    memory_bytes: int | None = None
    pcie_kb_s: float | None = None  # both directions together
    xgmi_read_kb: int | None = None  # counters
    xgmi_written_kb: int | None = None


def reading_of(gpu: Gpu, at_s: float, residencies: Iterable[str] = ()) -> Reading:
    """A GPU's facts of this moment. ``residencies``: counters of throttled time that grew since the last look."""
    try:
        hottest: float | None = max(one.input_c for one in readings(gpu))
    except NotKnown:
        hottest = None
    reasons = value_or(gpu.throttle, ())
    nearest = nearest_to_limit(gpu)
    heat = heat_reasons(reasons)
    # amdgpu on some cards always sets the flag of the hot spot: it counts near the sensor's own limit only.
    if gpu.vendor == "amd" and (nearest is None or not nearest.near_critical):
        heat = ()
    # "Power brake" of nvidia-smi comes from outside; prochot of other makers too.
    grown = tuple(name for name in residencies if "thm" in name or "prochot" in name)
    clock = next((key for key in ("sclk", "graphics") if isinstance(gpu.clocks_mhz.get(key), Known)), "")
    return Reading(
        at_s,
        value_or(gpu.bdf, None),
        value_or(gpu.busy_percent, None),
        hottest,
        value_or(gpu.clocks_mhz[clock], None) if clock else None,
        value_or(gpu.max_clocks_mhz[clock], None) if clock in gpu.max_clocks_mhz else None,
        value_or(gpu.power.now_w, None),
        value_or(gpu.power.cap_w, None),
        *_link(gpu),
        (*heat, *external_reasons(reasons), *grown),
        tuple(reasons),
        nearest.input_c if nearest is not None else None,
        nearest.crit_c if nearest is not None else None,
        value_or(gpu.vram_used_bytes, None),
        pcie_kb_s(gpu),
        value_or(gpu.traffic.xgmi_read_kb, None),
        value_or(gpu.traffic.xgmi_written_kb, None),
    )


def _link(gpu: Gpu) -> tuple[float | None, float | None]:
    """The slowest link on the way to the card now, and what the whole way could do, in GB/s."""
    rates = [
        bandwidth_gb_s(link.speed_gt_s.value, link.width.value)
        for link in slot_links(gpu)
        if isinstance(link.speed_gt_s, Known) and isinstance(link.width, Known)
    ]
    width, speed = capable(gpu)
    could = bandwidth_gb_s(speed.value, width.value) if isinstance(speed, Known) and isinstance(width, Known) else None
    return min(rates, default=None), could


class Watched(Host, Protocol):
    """A host that can be asked the same again."""

    def forget(self) -> None: ...


class Sampler:
    """Looks once a second from ``start`` to ``stop``; ``readings`` is what it has seen, oldest first."""

    def __init__(self, cpu: bool, host: Watched | None = None, interval_s: float = _INTERVAL_S) -> None:
        self._cpu = cpu
        self._host: Watched = host or LiveHost(3.0)
        self._interval_s = interval_s
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._counters: dict[str, dict[str, int]] = {}
        self._reader = SensorReader()
        self.readings: list[Reading] = []

    def look(self) -> list[Reading]:
        """One look now; empty when nothing answers."""
        self._host.forget()
        at = time.monotonic()
        if self._cpu:
            seen = cpu_sensors(self._host)
            if seen.temp_c is None and seen.clock_mhz is None:
                return []
            return [Reading(at, None, temp_c=seen.temp_c, clock_mhz=seen.clock_mhz)]
        found = self._reader.read(self._host)
        return [reading_of(gpu, at, self._grown(gpu, found)) for gpu in found.gpus if isinstance(gpu.bdf, Known)]

    def _grown(self, gpu: Gpu, found: GpuSensors) -> list[str]:
        card = value_or(gpu.drm_card, "")
        now = dict(found.residencies.get(card, {}))
        before = self._counters.get(card)
        self._counters[card] = now
        return [] if before is None else [name for name, value in now.items() if value > before.get(name, value)]

    def start(self) -> None:
        """Begin; without threads to be had it stays silent."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._thread = None

    def _run(self) -> None:
        while not self._end.is_set():
            began = time.monotonic()
            try:
                self.readings += self.look()
            except Exception:  # sensors are an extra: no measurement fails because of one
                return
            self._end.wait(max(0.1, self._interval_s - (time.monotonic() - began)))

    def stop(self) -> list[Reading]:
        """End, and what was seen. A look that hangs is left behind."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(2.0)
        return list(self.readings)


def summary(found: Sequence[Reading], number_of: Callable[[str | None], int | None]) -> Figures:
    """Sensors under load as figures: only looks at a busy device count, where it tells how busy it is."""
    figures: Figures = {}
    for bdf in dict.fromkeys(one.bdf for one in found):
        mine = [one for one in found if one.bdf == bdf]
        loaded = [one for one in mine if one.busy_percent is None or one.busy_percent >= _BUSY_PERCENT]
        who: Entry = {"gpu": number_of(bdf), "pci": bdf}
        if not loaded or (bdf is not None and who["gpu"] is None):
            continue
        _put(figures, "temp_max_c", who, max((one.temp_c for one in loaded if one.temp_c is not None), default=None))
        clocks = [one.clock_mhz for one in loaded if one.clock_mhz is not None]
        limit = max((one.max_clock_mhz for one in loaded if one.max_clock_mhz is not None), default=None)
        _put(figures, "clock_mhz", who, statistics.median(clocks) if clocks else None, limit)
        power = max((one.power_w for one in loaded if one.power_w is not None), default=None)
        cap = max((one.cap_w for one in loaded if one.cap_w is not None), default=None)
        _put(figures, "power_max_w", who, power, cap)
        links = [one.link_gb_s for one in loaded if one.link_gb_s is not None]
        could = max((one.capable_gb_s for one in loaded if one.capable_gb_s is not None), default=None)
        _put(figures, "pcie_link_gb_s", who, max(links, default=None), could)
        slowed = sorted({reason for one in loaded for reason in one.slowed})
        limits = sorted({reason for one in loaded for reason in one.limits})
        if limits or slowed:
            share = sum(bool(one.slowed) for one in loaded) / len(loaded)
            entry = {**who, "value": round(share, 3), "expected": None, "share": None}
            figures.setdefault("slowed", []).append({**entry, "reasons": slowed, "limits": limits})
    return figures


def _put(figures: Figures, name: str, who: Entry, value: float | None, expected: float | None = None) -> None:
    if value is None:
        return
    share = round(value / expected, 4) if expected else None
    whole = round(expected, 2) if expected is not None else None
    figures.setdefault(name, []).append({**who, "value": round(value, 2), "expected": whole, "share": share})
