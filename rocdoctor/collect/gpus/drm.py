"""What the GPU driver's own files say: sensors, power, clocks, memory, partitions, error counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TypeVar

from rocdoctor.collect.gpus.pci import VENDORS, gpu_vendor, identity, link_state
from rocdoctor.collect.gpus.records import DRM, GpuRecord
from rocdoctor.collect.reading import names_in, read_fact, word
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown
from rocdoctor.model.facts import RasBlock, Temperature, Traffic
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.kernel.drm import (
    DpmState,
    parse_count,
    parse_dpm,
    parse_partition,
    parse_pcie_bw,
    parse_unique_id,
)
from rocdoctor.parsers.kernel.gpu_metrics import GpuMetrics, parse_gpu_metrics
from rocdoctor.parsers.kernel.hwmon import Hwmon, parse_hwmon
from rocdoctor.parsers.kernel.pci import parse_bdf, parse_hex_id, parse_uevent
from rocdoctor.parsers.kernel.pci_link import parse_numa_node
from rocdoctor.parsers.kernel.ras import parse_bad_pages, parse_err_count, parse_fw_version

T = TypeVar("T")

_SENSOR_FILES = frozenset(
    (
        "name",
        "temp_label",
        "temp_input",
        "temp_crit",
        "temp_emergency",
        "power_label",
        "power_average",
        "power_input",
        "power_cap",
        "power_cap_default",
        "power_cap_max",
        "fan_input",
        "fan_max",
        "fan_enable",
        "pwm",
        "pwm_enable",
        "freq_label",
        "freq_input",
    )
)

# Values that the driver reads from the device: reading them would wake a sleeping GPU.
_SIMPLE: tuple[tuple[str, str, Callable[[str], object]], ...] = (
    ("performance_level", "power_dpm_force_performance_level", word),
    ("partition.compute", "current_compute_partition", parse_partition),
    ("partition.memory", "current_memory_partition", parse_partition),
    ("vram_bytes", "mem_info_vram_total", parse_count),
    ("vram_used_bytes", "mem_info_vram_used", parse_count),
    ("visible_vram_bytes", "mem_info_vis_vram_total", parse_count),
    ("gtt_bytes", "mem_info_gtt_total", parse_count),
    ("gtt_used_bytes", "mem_info_gtt_used", parse_count),
    ("vbios", "vbios_version", word),
    ("busy_percent", "gpu_busy_percent", parse_count),
    ("pcie.replay_count", "pcie_replay_count", parse_count),
)

TRAFFIC = tuple(f"traffic.{one.name}" for one in fields(Traffic))


def card_record(host: Host, card: str) -> GpuRecord | None:
    """The record of one card; None for what is no GPU (a plain display, a card without a PCI device)."""
    device = f"{card}/device"
    ask = f"read {device}/uevent"
    answer = host.ask(ask)
    event = parse_uevent(answer.text if answer.ok else "")
    vendor_id = event.vendor_id
    if vendor_id is None:
        fact = read_fact(host, f"{device}/vendor", parse_hex_id)
        vendor_id = fact.value if isinstance(fact, Known) else None
    vendor = gpu_vendor(vendor_id, event.pci_class) or (
        VENDORS.get(vendor_id or 0) if event.pci_class is None else None
    )
    if vendor is None:
        return None
    bdf = event.address
    if bdf is None:
        resolved = host.ask(f"link {device}")
        bdf = parse_bdf(resolved.text.rsplit("/", 1)[-1]) if resolved.ok else None
    record = GpuRecord(DRM, vendor, bdf=bdf, drm_card=card.rsplit("/", 1)[-1])
    record.put("bdf", bdf, ask, event.lines.get("address"))
    record.put("drm_card", record.drm_card, f"list {card}")
    identity(record, event, ask)
    _fill(host, record, device)
    return record


def _fill(host: Host, record: GpuRecord, device: str) -> None:
    minors = names_in(host, f"{device}/drm/renderD*")
    minor = whole_number(minors[0].rsplit("renderD", 1)[-1]) if minors else None
    if minor is not None:
        record.render_minor = minor
        record.put("render_minor", record.render_minor, f"list {device}/drm/renderD*")
    link = link_state(host, device)
    for key in ("speed_gt_s", "width", "max_speed_gt_s", "max_width"):
        record.put_fact(f"pcie.device.{key}", getattr(link, key))
    numa = host.ask(f"read {device}/numa_node")
    if numa.ok:
        record.facts["numa_node"] = Known(parse_numa_node(numa.text), numa.source(1))
    status = read_fact(host, f"{device}/power/runtime_status", word)
    record.put_fact("runtime_status", status)
    if isinstance(status, Known) and status.value == "suspended":
        why = Unknown("the GPU sleeps (runtime_status is suspended) and was left asleep", "suspended", status.source)
        for key in ("pcie.device.speed_gt_s", "pcie.device.width", "power.now_w", "busy_percent", *TRAFFIC):
            record.facts[key] = why
        return
    host.prefetch(f"read {device}/{name}" for _, name, _ in _SIMPLE)
    for key, name, parse in _SIMPLE:
        fact = read_fact(host, f"{device}/{name}", parse)
        if key.endswith("vram_bytes") and isinstance(fact, Known) and fact.value == 0:
            continue  # an accelerator that shares the CPU's memory: KFD has the size
        record.put_fact(key, fact)
    unique = host.ask(f"read {device}/unique_id")
    number = parse_unique_id(unique.text) if unique.ok else None
    if number:
        record.unique_id = number
        record.put("unique_id", f"{number:016x}", unique.question, 1)
    for clock in ("sclk", "mclk", "fclk", "socclk"):
        table = read_fact(host, f"{device}/pp_dpm_{clock}", parse_dpm)
        if isinstance(table, Known):
            _clocks(record, clock, table.value, table.source)
    _sensors(host, record, device)
    _ras(host, record, device)
    _metrics(host, record, device)
    _firmware(host, record, device)
    hive = host.ask(f"read {device}/xgmi_hive_info/xgmi_hive_id")
    if hive.ok and (hive_number := parse_unique_id(hive.text)) is not None:
        record.facts["hive_id"] = Known(f"{hive_number:016x}" if hive_number else None, hive.source(1))


def _clocks(record: GpuRecord, clock: str, states: tuple[DpmState, ...], source: Source) -> None:
    record.put(f"max_clocks_mhz.{clock}", float(max(state.clock_mhz for state in states)), source.question)
    active = [state.clock_mhz for state in states if state.active]
    if active:
        record.put(f"clocks_mhz.{clock}", float(active[0]), source.question)


def _sensors(host: Host, record: GpuRecord, device: str) -> None:
    folders = names_in(host, f"{device}/hwmon/hwmon*")
    if not folders:
        return
    folder = folders[0]
    questions: dict[str, str] = {}
    for path in names_in(host, f"{folder}/*"):
        name = path.rsplit("/", 1)[-1]
        digits = "".join(sign for sign in name if sign.isdigit())
        plain = "".join("" if sign.isdigit() else sign for sign in name)
        if plain in _SENSOR_FILES and len(digits) <= 2:
            questions[name] = f"read {path}"
    host.prefetch(questions.values())
    answers = {name: host.ask(question) for name, question in questions.items()}
    hwmon = parse_hwmon({name: answer.text for name, answer in answers.items() if answer.ok})
    record.put("temps", tuple(_temperatures(hwmon, folder)), f"list {folder}/*")
    _power(record, hwmon, folder)


def _at(folder: str, name: str, value: T | None) -> Fact[T]:
    question = f"read {folder}/{name}"
    if value is None:
        return Unknown(f"{question}: no value", "absent", Source(question))
    return Known(value, Source(question, 1))


def _temperatures(hwmon: Hwmon, folder: str) -> list[Temperature]:
    return [
        Temperature(
            sensor.label or f"temp{sensor.channel}",
            _at(folder, f"temp{sensor.channel}_input", sensor.temp_c),
            _at(folder, f"temp{sensor.channel}_crit", sensor.crit_c),
            _at(folder, f"temp{sensor.channel}_emergency", sensor.emergency_c),
        )
        for sensor in hwmon.temperatures
    ]


def _power(record: GpuRecord, hwmon: Hwmon, folder: str) -> None:
    if hwmon.powers:
        power = hwmon.powers[0]
        now = "average" if power.average_w is not None else "input"
        for key, name, value in (
            ("now_w", f"power{power.channel}_{now}", power.power_w),
            ("cap_w", f"power{power.channel}_cap", power.cap_w),
            ("cap_default_w", f"power{power.channel}_cap_default", power.cap_default_w),
            ("cap_max_w", f"power{power.channel}_cap_max", power.cap_max_w),
        ):
            record.put(f"power.{key}", value, f"read {folder}/{name}", 1)
    if hwmon.fans:
        fan = hwmon.fans[0]
        record.put("fan.rpm", fan.rpm, f"read {folder}/fan{fan.channel}_input", 1)
        record.put("fan.max_rpm", fan.max_rpm, f"read {folder}/fan{fan.channel}_max", 1)
        record.put("fan.pwm", fan.pwm, f"read {folder}/pwm{fan.channel}", 1)
        mode = {0: "full", 1: "manual", 2: "automatic"}.get(fan.pwm_enable if fan.pwm_enable is not None else -1)
        record.put("fan.mode", mode, f"read {folder}/pwm{fan.channel}_enable", 1)
    for reading in hwmon.clocks_mhz:
        if reading.label:
            record.put(f"clocks_mhz.{reading.label}", reading.value, f"read {folder}/freq{reading.channel}_input", 1)


def _ras(host: Host, record: GpuRecord, device: str) -> None:
    blocks: list[RasBlock] = []
    paths = names_in(host, f"{device}/ras/*_err_count")
    host.prefetch(f"read {path}" for path in paths)
    for path in paths:
        answer = host.ask(f"read {path}")
        counts = parse_err_count(answer.text) if answer.ok else None
        if counts is None:
            continue
        name = path.rsplit("/", 1)[-1].removesuffix("_err_count")
        ask = f"read {path}"
        lines = counts.lines
        uncorrectable: Fact[int] = NOT_ASKED
        correctable: Fact[int] = NOT_ASKED
        if counts.uncorrectable is not None:
            uncorrectable = Known(counts.uncorrectable, Source(ask, lines.get("uncorrectable")))
        if counts.correctable is not None:
            correctable = Known(counts.correctable, Source(ask, lines.get("correctable")))
        blocks.append(RasBlock(name, uncorrectable, correctable))
    if blocks:
        record.put("ras", tuple(blocks), f"list {device}/ras/*_err_count")
    pages = host.ask(f"read {device}/ras/gpu_vram_bad_pages")
    if pages.ok and (bad := parse_bad_pages(pages.text)) is not None:
        record.put("bad_pages", bad, pages.question)


def _metrics(host: Host, record: GpuRecord, device: str) -> None:
    answer = host.ask(f"read {device}/gpu_metrics")
    if not answer.ok:
        for key in TRAFFIC if record.vendor == "amd" else ():  # others have no such file
            record.put_fact(key, answer.unknown())
        return
    if (metrics := parse_gpu_metrics(answer.data)) is not None:
        record.put("throttle", metrics.throttlers, answer.question)
        _traffic(record, metrics, Source(answer.question))


def _traffic(record: GpuRecord, metrics: GpuMetrics, source: Source) -> None:
    name = f"gpu_metrics {metrics.version[0]}.{metrics.version[1]} of this driver"
    moved = metrics.pcie_bandwidth
    if moved is None:
        none = Unknown(f"{name} does not show what moves over PCIe", "absent", source)
    else:
        none = Unknown(f"{name} shows one figure for both directions", "absent", source)
    for key in ("traffic.pcie_received_kb_s", "traffic.pcie_sent_kb_s"):
        record.put_fact(key, none)
    if moved is not None and metrics.pcie_unit_settled:
        record.put("traffic.pcie_mbit_s", moved, source.question)
    elif moved is not None:
        why = f"{name} says {moved}, which the kernel calls GB/s and amd-smi Mb/s"
        record.put_fact("traffic.pcie_mbit_s", Unknown(why, "undecided", source))
    else:
        record.put_fact("traffic.pcie_mbit_s", none)
    for key, value in (("xgmi_read_kb", metrics.xgmi_read_kb), ("xgmi_written_kb", metrics.xgmi_written_kb)):
        missing = Unknown(f"{name} does not count what moves over XGMI", "absent", source)
        record.put_fact(f"traffic.{key}", missing if value is None else Known(value, source))


def pcie_usage(host: Host, record: GpuRecord) -> GpuRecord | None:
    """What the kernel estimates from counted packets: it counts for a second before it answers (``msleep(1000)``).

    So only somebody who watches asks. The file has packets received and sent in that second, and the largest payload
    of one in bytes (drivers/gpu/drm/amd/pm/amdgpu_pm.c, DOC: pcie_bw; ``cik_get_pcie_usage``; Linux 6.8).
    """
    answer = host.ask(f"read /sys/class/drm/{record.drm_card}/device/pcie_bw")
    moved = parse_pcie_bw(answer.text) if answer.ok else None
    if moved is None:
        return None
    found = GpuRecord(DRM, record.vendor, bdf=record.bdf, drm_card=record.drm_card)
    found.put("traffic.pcie_received_kb_s", moved[0] // 1000, answer.question, 1)
    found.put("traffic.pcie_sent_kb_s", moved[1] // 1000, answer.question, 1)
    return found


def _firmware(host: Host, record: GpuRecord, device: str) -> None:
    paths = names_in(host, f"{device}/fw_version/*")
    host.prefetch(f"read {path}" for path in paths)
    files = {path.rsplit("/", 1)[-1]: host.ask(f"read {path}") for path in paths}
    parsed = parse_fw_version({name: answer.text for name, answer in files.items() if answer.ok})
    if parsed:
        versions = {name: f"0x{version:08x}" for name, version in parsed.items()}
        record.put("firmware", versions, f"list {device}/fw_version/*")
