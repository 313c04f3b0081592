"""What GPUs and processors show of temperature, clock, power and throttling at this moment, while something runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rocdoctor.collect.gpus import merged as gpus
from rocdoctor.collect.gpus.asleep import sleeping
from rocdoctor.collect.gpus.records import GpuRecord
from rocdoctor.collect.gpus.same_answers import SameAnswers
from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.gpus.tools import nvidia_smi
from rocdoctor.collect.reading import names_in, read_text
from rocdoctor.host.base import Host
from rocdoctor.model.facts import Gpu
from rocdoctor.parsers.formats.text import to_int
from rocdoctor.parsers.kernel.gpu_metrics import parse_gpu_metrics

# Drivers of the processors' own sensors: Intel, AMD since family 10h, its out-of-tree variant.
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower")
_MAX_CPUS = 1024


@dataclass(frozen=True, slots=True)
class CpuSensors:
    """The hottest sensor of the processors and the fastest and slowest core clock; None where nothing tells it."""

    temp_c: float | None = None
    clock_mhz: float | None = None
    slowest_mhz: float | None = None


@dataclass(frozen=True, slots=True)
class GpuSensors:
    """The GPUs now, and by DRM card the counters of time spent throttled (comparable between two looks)."""

    gpus: tuple[Gpu, ...] = ()
    residencies: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class SensorReader:
    """Reads the sensors of all GPUs, again and again; what is answered as before is not parsed anew.

    ``counting``: also what takes a second to be counted, one GPU after the other where nobody asks ahead.
    """

    def __init__(self, counting: bool = False) -> None:
        self._counting = counting
        self._seen = SameAnswers()
        self._gpus: dict[int, tuple[list[GpuRecord], Gpu]] = {}

    def read(self, host: Host) -> GpuSensors:
        """All GPUs; NVIDIA's through one call of nvidia-smi, unless one of them sleeps: it would wake it."""
        view = gpus.from_sysfs(host, self._seen)
        tools = Tools()
        if any(record.vendor == "nvidia" for record in view.records) and "nvidia" not in sleeping(view.records):
            answer = host.ask(nvidia_smi.TOOL.live[0])
            if answer.ok:
                tools.add(nvidia_smi.TOOL, answer)
        gpus.add_tools(view, tools)
        view.records += self._counted(host, view.records)
        found = gpus.build_gpus(view, self._gpus)
        counters: dict[str, Mapping[str, int]] = {}
        for record in view.records:
            if record.vendor == "amd" and record.drm_card and not sleeping([record]):
                answer = host.ask(f"read /sys/class/drm/{record.drm_card}/device/gpu_metrics")
                metrics = parse_gpu_metrics(answer.data) if answer.ok else None
                if metrics is not None and metrics.residencies:
                    counters[record.drm_card] = metrics.residencies
        return GpuSensors(found, counters)

    def _counted(self, host: Host, records: list[GpuRecord]) -> list[GpuRecord]:
        if not self._counting:
            return []
        from rocdoctor.collect.gpus.drm import pcie_usage

        cards = [one for one in records if one.vendor == "amd" and one.drm_card and not sleeping([one])]
        return [moved for one in cards if (moved := pcie_usage(host, one)) is not None]


def cpu_sensors(host: Host) -> CpuSensors:
    """The processors' sensors; virtual machines have none."""
    temps: list[float] = []
    for folder in names_in(host, "/sys/class/hwmon/hwmon*"):
        if (read_text(host, f"{folder}/name") or "").strip() in _CPU_SENSORS:
            temps += [
                value / 1000
                for path in names_in(host, f"{folder}/temp*_input")
                if (value := to_int(read_text(host, path) or "")) is not None
            ]
    clocks = [
        value / 1000
        for path in names_in(host, "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq", _MAX_CPUS)
        if (value := to_int(read_text(host, path) or "")) is not None
    ]
    plausible = [value for value in temps if 0 < value < 150]
    return CpuSensors(max(plausible, default=None), max(clocks, default=None), min(clocks, default=None))
