"""What is known of a GPU's sensors, each value in words beside its own limit; and why the rest is not. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rocdoctor.insight.gpus.gpu_health import TemperatureReading, readings
from rocdoctor.insight.gpus.traffic import amount, no_pcie, no_xgmi, pcie_words, xgmi_rates_kb_s
from rocdoctor.insight.links.pcie import link_bandwidth
from rocdoctor.model.evidence import Known, NotKnown, Unknown, value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.printable import one_line
from rocdoctor.model.units import binary_size
from rocdoctor.train.smoke.figures.sampler import Reading
from rocdoctor.tui.style import heat_style

HEAD = 12
Value = tuple[str, float | None, str, str]


def values(gpu: Gpu, unknown: dict[str, list[str]], series: Sequence[Reading] = ()) -> Iterable[Value]:
    """(name, share of the limit, words, style) of all that is known; the reasons for the rest go into ``unknown``.

    ``series`` are the looks at it, of which the last two make a rate of counters.
    """

    def missing(name: str, fact: Known[Any] | Unknown) -> None:
        if isinstance(fact, Unknown):
            unknown.setdefault(one_line(fact.why), []).append(name)

    if not gpu.temps:
        missing("temperature", Unknown(_why(gpu)))
    plausible = {id(one.sensor): one for one in _readings(gpu)}
    for sensor in gpu.temps:
        name = one_line(sensor.label)[: HEAD - 1]
        if isinstance(sensor.input_c, Known):
            seen = plausible.get(id(sensor))
            share = share_of(seen.input_c, seen.crit_c) if seen is not None else None
            yield name, share, _temperature(sensor.input_c.value, seen), heat_style(seen)
        else:
            missing(f"temperature {name}", sensor.input_c)
    if isinstance(gpu.power.now_w, Known):
        now = gpu.power.now_w.value
        yield "power", share_of(now, value_or(gpu.power.cap_w, None)), _power(gpu, now), ""
    missing("power", gpu.power.now_w)
    missing("power cap", gpu.power.cap_w)
    for clock, fact in gpu.clocks_mhz.items():
        if isinstance(fact, Known):
            most = value_or(gpu.max_clocks_mhz[clock], None) if clock in gpu.max_clocks_mhz else None
            yield one_line(clock)[: HEAD - 1], share_of(fact.value, most), f"{of_limit(fact.value, most)} MHz", ""
        else:
            missing(f"clock {clock}", fact)
    if not gpu.clocks_mhz:
        missing("clocks", Unknown(_why(gpu)))
    if isinstance(gpu.busy_percent, Known):
        yield "use", gpu.busy_percent.value / 100, f"{gpu.busy_percent.value} %", ""
    missing("use", gpu.busy_percent)
    yield from _memory(gpu, missing)
    yield from _fan(gpu)
    yield from _moved(gpu, missing, series)
    missing("throttling", gpu.throttle)
    if isinstance(gpu.performance_level, Known):
        yield "level", None, f"performance level {one_line(gpu.performance_level.value)}", ""


def _why(gpu: Gpu) -> str:
    driver = value_or(gpu.driver, "")
    return "no driver is bound to it" if driver is None else "not stated in this evidence"


def _readings(gpu: Gpu) -> tuple[TemperatureReading, ...]:
    try:
        return readings(gpu)
    except NotKnown:
        return ()


def _temperature(value: float, seen: TemperatureReading | None) -> str:
    if seen is None:
        return f"unknown: reads {value:g} °C, which no chip has"
    if seen.crit_c is None:
        return f"{number(value)} °C; the card states no limit"
    words = f"{of_limit(value, seen.crit_c)} °C"
    return words + (f", emergency at {seen.emergency_c:g} °C" if seen.emergency_c is not None else "")


def _power(gpu: Gpu, now: float) -> str:
    cap, default = value_or(gpu.power.cap_w, None), value_or(gpu.power.cap_default_w, None)
    words = f"{of_limit(now, cap)} W" + (" cap" if cap else "; its cap is unknown")
    if cap and default and cap != default:
        words += f", {'lowered' if cap < default else 'raised'} from {default:.0f} W"
    most = value_or(gpu.power.cap_max_w, None)
    return words + (f", at most {most:.0f} W" if most and most != cap else "")


def _memory(gpu: Gpu, missing: Callable[[str, Known[Any] | Unknown], None]) -> Iterable[Value]:
    for name, used, total in (
        ("memory", gpu.vram_used_bytes, gpu.vram_bytes),
        *((("GTT memory", gpu.gtt_used_bytes, gpu.gtt_bytes),) if value_or(gpu.shared_memory, False) else ()),
    ):
        size = value_or(total, None)
        if isinstance(used, Known):
            of = f" of {binary_size(size)}" if size else ""
            yield name, share_of(used.value, size), binary_size(used.value) + of, ""
        elif isinstance(gpu.vram_used_percent, Known) and name == "memory":
            percent = gpu.vram_used_percent.value
            yield name, percent / 100, f"{percent} %" + (f" of {binary_size(size)}" if size else ""), ""
        else:
            missing(f"{name} used", used)


def _moved(
    gpu: Gpu, missing: Callable[[str, Known[Any] | Unknown], None], series: Sequence[Reading]
) -> Iterable[Value]:
    """What moves over PCIe and XGMI. An integrated GPU has no link, and one outside of a hive no XGMI."""
    if (why := no_pcie(gpu)) is None:
        yield "PCIe", _of_link(gpu), pcie_words(gpu), ""
    elif not value_or(gpu.integrated, False):
        missing("PCIe traffic", why)
    if (why := no_xgmi(gpu)) is None:
        rate = xgmi_rates_kb_s(series[-2:])[-1] if series else None
        read, written = value_or(gpu.traffic.xgmi_read_kb, 0), value_or(gpu.traffic.xgmi_written_kb, 0)
        if rate is not None:
            yield "XGMI", None, f"read {amount(rate[0])}/s, written {amount(rate[1])}/s, all links", ""
        else:
            yield "XGMI", None, f"read {amount(read)}, written {amount(written)} so far, all links", ""
    elif value_or(gpu.hive_id, None) is not None:
        missing("XGMI traffic", why)


def _of_link(gpu: Gpu) -> float | None:
    """The busier direction as a share of what the link carries now; None where only the sum of both is known."""
    carries = link_bandwidth(gpu.pcie.device)
    known = [
        one.value for one in (gpu.traffic.pcie_received_kb_s, gpu.traffic.pcie_sent_kb_s) if isinstance(one, Known)
    ]
    return max(known) / (carries * 1e6) if carries and known else None


def _fan(gpu: Gpu) -> Iterable[Value]:
    rpm, pwm = value_or(gpu.fan.rpm, None), value_or(gpu.fan.pwm, None)
    most = value_or(gpu.fan.max_rpm, None)
    parts = [
        f"{of_limit(rpm, most)} rpm" if rpm is not None else "",
        f"{pwm / 2.55:.0f} % drive" if pwm is not None else "",
        one_line(value_or(gpu.fan.mode, "")),
    ]
    words = ", ".join(part for part in parts if part)
    yield "fan", share_of(rpm, most), words or "no speed reported (many boards have none)", ""


def of_limit(value: float | None, limit: float | None) -> str:
    """``61 of 100``; ``unknown`` without a value, the value alone without a limit."""
    if value is None:
        return "unknown"
    return number(value) + (f" of {number(limit)}" if limit else "")


def number(value: float) -> str:
    """Small figures with a decimal."""
    return f"{value:.1f}" if 0 < abs(value) < 9.95 and not float(value).is_integer() else f"{value:.0f}"


def share_of(value: float | None, limit: float | None) -> float | None:
    """How much of the limit it is, None where either is not known."""
    return value / limit if value is not None and limit else None
