"""GPUs as lines and blocks of text: each value with its limit, unknown said with its reason, widths kept."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table
from rich.text import Text

from rocdoctor.collect import collect
from rocdoctor.collect.gpus.sensors import CpuSensors
from rocdoctor.judging.gpu_standing import GpuStanding
from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import Fan, Gpu, LinkState, Pcie, Power, Temperature, Traffic
from rocdoctor.model.finding import Finding, Verdict
from rocdoctor.train.smoke.figures.sampler import reading_of
from rocdoctor.tui.style import RISK, WRONG
from rocdoctor.tui.thermals.drawing import (
    GpuNow,
    cpu_line,
    detail,
    details,
    event_lines,
    header,
    no_events,
    no_finding,
    nothing_known,
    row,
    state,
    temperatures,
)
from rocdoctor.tui.thermals.gpu_plots import curves
from rocdoctor.tui.thermals.live_values import Event
from rocdoctor.tui.thermals.sparkline import bar, sparkline
from tests.kit import ROOT, amd_gpu, k, nvidia_gpu, u
from tests.tui.kit import fixture_host

FIXTURES = sorted(path.stem for path in Path(ROOT / "fixtures").glob("*.capture"))


def card(**changes: Any) -> Gpu:
    facts: dict[str, Any] = {
        "temps": (Temperature("edge", k(61.0), k(100.0), k(105.0)), Temperature("junction", k(95.0), k(110.0), u())),
        "power": Power(k(250.0), k(300.0), k(355.0), k(400.0)),
        "throttle": (),
        "busy_percent": 97,
        "clocks_mhz": {"sclk": k(2300.0), "mclk": k(1200.0)},
        "max_clocks_mhz": {"sclk": k(2500.0)},
        "vram_used_bytes": 48 << 30,
        "performance_level": "auto",
        "fan": Fan(k(1500), k(3000), k(128), k("automatic")),
        "traffic": Traffic(pcie_mbit_s=k(18)),
    }
    return amd_gpu(**{**facts, **changes})


def text_of(gpu: Gpu, width: int = 77) -> str:
    return detail(GpuNow(gpu), width).plain


def test_what_moves_over_the_links_is_a_line_each_or_its_reason() -> None:
    link = LinkState(k(16.0), k(16), k(16.0), k(16))
    busy = Traffic(k(15_000_000), k(567), xgmi_read_kb=k(5_000_000), xgmi_written_kb=k(1000))
    gpu = card(traffic=busy, pcie=Pcie(link), hive_id=k("ab"))
    once = text_of(gpu)
    assert re.search(r"^PCIe +█{8}░{8} received 15\.0 GB/s, sent 567 KB/s$", once, re.MULTILINE), "of 31.5 GB/s"
    assert "read 5.0 GB, written 1.0 MB so far, all links" in once, "one look makes no rate"
    later = card(traffic=replace(busy, xgmi_read_kb=k(9_000_000)), hive_id=k("ab"))
    watched = GpuNow(later, (reading_of(gpu, 10.0), reading_of(later, 12.0)))
    assert "read 2.0 GB/s, written 0 KB/s, all links" in detail(watched, 77).plain
    disputed = Unknown("this driver says 18, which the kernel calls GB/s and amd-smi Mb/s", "undecided")
    unsure = text_of(card(traffic=Traffic(pcie_mbit_s=disputed), hive_id=k("ab")))
    assert "unknown: PCIe traffic\n  this driver says 18, which" in unsure and "XGMI traffic" in unsure
    alone = text_of(card(traffic=Traffic(pcie_mbit_s=k(18)), hive_id=k(None)))
    assert "18 Mb/s, both directions together" in alone and "XGMI" not in alone
    assert "PCIe" not in text_of(card(integrated=True, traffic=Traffic()))


@pytest.mark.parametrize(("severity", "told"), [("error", True), ("warning", True), ("info", False), (None, False)])
def test_a_gpu_with_a_finding_is_marked_in_its_row_and_above_its_values(severity: Any, told: bool) -> None:
    finding = Finding(severity, "It is ill.") if severity else None
    now = GpuNow(card(), standing=GpuStanding(card(), finding, "ras-uncorrectable"))
    for width in (57, 77, 120, 180):
        line = row(now, width)
        assert line.plain.split()[0] == ("0!" if told else "0")
        assert line.plain[len("0!") :] == row(GpuNow(card()), width).plain[len("0!") :], "no column moves"
    assert (f"\n{severity} ras-uncorrectable: Enter shows it\n" in detail(now, 77).plain) is told
    bare = row(replace(now, gpu=amd_gpu()), 77).plain
    assert bare.startswith("0! " if told else "0 ")


def test_traffic_is_plotted_where_it_is_known() -> None:
    moved = [
        amd_gpu(traffic=Traffic(k(at * 1000), k(500), xgmi_read_kb=k(at), xgmi_written_kb=k(0))) for at in (1, 2, 3)
    ]
    names = [one.name for one in curves([reading_of(gpu, float(at)) for at, gpu in enumerate(moved)])]
    assert names == ["PCIe, MB/s", "XGMI, GB/s"]
    assert not curves([reading_of(amd_gpu(), float(at)) for at in range(3)])


def test_a_line_holds_the_sensor_nearest_to_its_limit_and_each_value_with_its_own() -> None:
    assert row(GpuNow(card()), 77).plain.split() == [
        "0",
        "junction",
        "95",
        "of",
        "110",
        "250",
        "of",
        "300",
        "2300",
        "of",
        "2500",
        "97",
        "%",
        "48",
        "of",
        "64",
        "nothing",
    ]
    cooler = card(temps=(Temperature("edge", k(80.0)), Temperature("mem", k(60.0), k(95.0))))
    assert row(GpuNow(cooler), 77).plain.split()[1:5] == ["mem", "60", "of", "95"], "a limit counts more than degrees"


def test_all_of_one_gpu() -> None:
    lines = [" ".join(line.replace("█", "").replace("░", "").split()) for line in text_of(card()).splitlines()]
    assert "edge 61 of 100 °C, emergency at 105 °C" in lines
    assert "junction 95 of 110 °C" in lines
    assert "power 250 of 300 W cap, lowered from 355 W, at most 400 W" in lines
    assert "sclk 2300 of 2500 MHz" in lines
    assert "mclk 1200 MHz" in lines
    assert "use 97 %" in lines
    assert "memory 48 GiB of 64 GiB" in lines
    assert "fan 1500 of 3000 rpm, 50 % drive, automatic" in lines
    assert "slowed by nothing" in lines
    assert not [line for line in lines if line.startswith("unknown")]


def test_a_healthy_gpu_at_work_is_no_alarm() -> None:
    busy = card(
        power=Power(k(300.0), k(300.0)),
        busy_percent=100,
        clocks_mhz={"sclk": k(2500.0)},
        vram_used_bytes=64 << 30,
        fan=Fan(k(3000), k(3000), k(255), k("automatic")),
    )
    for text in (detail(GpuNow(busy), 120), row(GpuNow(busy), 120)):
        assert not {WRONG, RISK} & {str(span.style) for span in text.spans}
    hot = card(temps=(Temperature("junction", k(111.0), k(110.0)),))
    assert WRONG in {str(span.style) for span in detail(GpuNow(hot), 120).spans}
    odd = detail(GpuNow(card(temps=(Temperature("edge", k(511.0), k(100.0)),))), 120)
    assert WRONG not in {str(span.style) for span in odd.spans}, "a sensor that reads nonsense is not hot"


def test_bars_show_the_share_of_the_limit() -> None:
    line = next(line for line in text_of(card(), 77).splitlines() if line.startswith("edge"))
    assert line.count("█") == 10
    assert line.count("░") == 6, "61 % of 16"


def test_unknown_is_said_with_its_reason_and_is_never_zero() -> None:
    bare = Gpu(3, "amd", bdf=k("0000:23:00.0"), driver=k("amdgpu"), power=Power(now_w=u("permission denied")))
    line = row(GpuNow(replace(bare, vram_used_bytes=k(2**30))), 77).plain
    assert line.split().count("unknown") == 5
    assert "0 %" not in line
    text = text_of(bare)
    assert "unknown: power\n  permission denied" in text
    assert "unknown: temperature, clocks" in text
    assert "no speed reported" in text


def test_without_a_driver_that_is_the_reason() -> None:
    assert "no driver is bound to it" in text_of(amd_gpu(driver=None))


def test_a_sensor_that_reads_nonsense_is_unknown() -> None:
    odd = card(temps=(Temperature("edge", k(511.0), k(100.0)),))
    assert "unknown: reads 511 °C" in text_of(odd)
    assert "edge" not in row(GpuNow(odd), 77).plain


def test_a_card_without_a_stated_limit_says_so() -> None:
    assert "61 °C; the card states no limit" in text_of(card(temps=(Temperature("edge", k(61.0)),)))


def test_a_sleeping_gpu_is_not_unknown_but_asleep() -> None:
    asleep = card(runtime_status="suspended", temps=(), throttle=u())
    assert state(GpuNow(asleep)) == "asleep"
    assert "It is asleep and was not woken" in text_of(asleep)


def test_what_slows_it_is_said_in_a_word_and_a_clause() -> None:
    hot = (Temperature("junction", k(108.0), k(110.0)),)
    assert state(GpuNow(card(throttle=("temp_hotspot",), temps=hot))) == "heat"
    assert re.search("slowed by +heat: temp_hotspot", text_of(card(throttle=("temp_hotspot",), temps=hot)))
    assert state(GpuNow(card(throttle=("ppt0",)))) == "power cap"
    assert state(GpuNow(nvidia_gpu(throttle=("hw_power_brake_slowdown",)))) == "outside"
    assert state(GpuNow(nvidia_gpu(throttle=("gpu_idle",)))) == "nothing"
    assert "nothing that reduces speed; reported: gpu_idle" in text_of(nvidia_gpu(throttle=("gpu_idle",)))
    assert state(GpuNow(card(throttle=u()))) == "unknown"
    assert state(GpuNow(card(throttle=u()), counted=True)) == "nothing", "its counters did not grow"
    assert state(GpuNow(card(throttle=u(), temps=(Temperature("edge", k(101.0), k(100.0)),)))) == "too hot"
    assert state(GpuNow(card(), silent_s=8.0)) == "no answer"
    assert "It has not answered for 8 s." in detail(GpuNow(card(), silent_s=8.0), 77).plain


def test_where_it_is_watched_the_events_count() -> None:
    gpu = card(throttle=u())
    series = (reading_of(gpu, 0.0),)
    grown = Event("0000:23:00.0", "heat", ("socket_thm",), "12:00:00", "12:00:02", 0.0)
    assert state(GpuNow(gpu, series, (grown,), counted=True)) == "heat"
    assert "heat: socket_thm" in detail(GpuNow(gpu, series, (grown,), counted=True), 77).plain


def test_the_history_has_its_ends_in_words() -> None:
    series = tuple(reading_of(card(temps=(Temperature("edge", k(40.0 + at), k(100.0)),)), at) for at in range(20))
    text = detail(GpuNow(card(), series), 77).plain
    assert "the last 19 s, the newest on the right:" in text
    line = next(line for line in text.splitlines() if line.startswith("temperature"))
    assert line.endswith("40 to 59 °C")
    assert "▁" in line
    assert "█" in line
    assert "the last" not in detail(GpuNow(card(), series[:1]), 77).plain


def test_sparklines() -> None:
    assert sparkline([0.0, 7.0], 10) == "▁█"
    assert sparkline([1.0, None, 8.0], 10) == "▁ █"
    assert sparkline([0.0, 99.0, 10.0, 20.0, 30.0], 3) == "▁▅█", "the last ones, on their own scale"
    assert sparkline([None, None], 5) == ""
    assert sparkline([50.0, 50.5], 5, span=10.0) == "▄▅", "noise stays in the middle"
    assert sparkline([5.0, 5.0], 5) == "▁▁"
    assert (bar(0.5, 4), bar(None, 3), bar(7.0, 2), bar(-1.0, 2)) == ("██░░", "   ", "██", "░░")


def test_the_processors_in_a_line() -> None:
    assert cpu_line(CpuSensors(72.4, 4850.0, 3600.0), False).plain == (
        "CPU  72 °C (hottest sensor), cores at 3600 to 4850 MHz"
    )
    assert "temperature unknown (not in this evidence)" in cpu_line(CpuSensors(), True).plain
    assert "virtual machines have none" in cpu_line(CpuSensors(), False).plain


def test_events_newest_first() -> None:
    events = [
        Event("0000:23:00.0", "power", ("ppt0",), "12:00:00", "12:00:09", 9.0, times=3, active=False),
        Event("0000:43:00.0", "heat", ("temp_mem\x1b[31m",), "12:00:05", "12:00:05", 5.0),
    ]
    lines = event_lines(events, {"0000:23:00.0": "gpu 0"}).plain.splitlines()
    assert lines[0] == "12:00:05  0000:43:00.0  heat: temp_mem, now"
    power = "a limit of power or current (normal under full load): ppt0, began 3 times"
    assert lines[1] == f"12:00:00 to 12:00:09  gpu 0  {power}"


@pytest.mark.parametrize("name", FIXTURES)
def test_every_fixture_fits_its_width(name: str) -> None:
    machine = collect(fixture_host(name))
    for width in (57, 77, 117, 197):
        for gpu in machine.gpus:
            now = GpuNow(gpu, tuple(reading_of(gpu, at) for at in range(60)))
            assert row(now, width).cell_len <= width
            assert "\x1b" not in detail(now, width).plain


def test_heads_stand_over_their_columns() -> None:
    for width in (57, 77, 117, 197):
        head, line = header(width).plain, row(GpuNow(card()), width).plain
        assert head.index("power, W") + 8 == line.index("of 300") + 6
        assert head.index("slowed by") == line.index("nothing")
    watched, series = header(197, True).plain, tuple(reading_of(card(), at) for at in range(5))
    assert watched.index("temperature") == row(GpuNow(card(), series), 197).plain.index("▅▅▅▅▅")
    assert "clock" not in header(57).plain, "few columns where there is little room"
    long = card(temps=(Temperature("a long name of a sensor", k(101.0), k(110.0)),))
    assert row(GpuNow(long), 77).plain.index("250 of 300") == row(GpuNow(card()), 77).plain.index("250 of 300")


def test_blocks_stand_side_by_side_where_all_fit() -> None:
    views = [GpuNow(card()), GpuNow(amd_gpu(1))]
    assert isinstance(details(views, 0, 190, 40), Table)
    assert isinstance(details(views, 0, 100, 40), Table)
    for width, height in ((77, 40), (190, 5)):
        one = details(views, 1, width, height)
        assert isinstance(one, Text)
        assert one.plain.startswith("gpu 1 ")


def test_hostile_names_drive_no_terminal() -> None:
    gpu = card(
        name="bad\x1b]0;x\x07\nname",
        temps=(Temperature("ed\x1b[2Jge\n", k(61.0), k(100.0)),),
        performance_level="au\x1b[5mto",
        clocks_mhz={"s\x1b[1mclk": k(1.0)},
        power=Power(now_w=Unknown("w\x1b[1mhy")),
    )
    shown = text_of(gpu) + row(GpuNow(gpu), 77).plain
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_a_temperature_of_three_digits_keeps_the_name_and_is_red_beside_its_limit() -> None:
    now = GpuNow(card(temps=(Temperature("junction", k(101.0), k(100.0)),), throttle=u("no source")))
    line = row(now, 77)
    assert "junction 101/100" in line.plain
    assert any(span.style == WRONG and "101" in line.plain[span.start : span.end] for span in line.spans)
    assert line.plain.rstrip().endswith("too hot")
    # Where no source tells of throttling, nothing may say that there is none.
    assert "unknown: it is too hot, and nothing more is reported" in detail(now, 100).plain
    assert no_events([now]).plain.startswith("unknown")
    told = GpuNow(amd_gpu(throttle=()))
    assert no_events([told]).plain == "nothing since this screen was opened"
    assert "unknown for gpu" in no_events([told, now]).plain


def _cells_of(drawn: Text | Table) -> list[str]:
    assert isinstance(drawn, Table)
    return [str(cell) for column in drawn.columns for cell in column.cells]


def test_the_temperatures_of_all_gpus_have_one_scale_which_is_said() -> None:
    def history(index: int, *degrees: float) -> GpuNow:
        at = [card(index=index, temps=(Temperature("junction", k(one), k(110.0), u()),)) for one in degrees]
        return GpuNow(at[-1], tuple(reading_of(gpu, float(when)) for when, gpu in enumerate(at)))

    cool, hot = history(0, 41.0, 43.0, 41.0), history(1, 99.0, 101.0, 101.0)
    scale = temperatures([cool, hot])
    assert scale == (41.0, 101.0)
    assert row(cool, 197, scale).plain.endswith("▁▁▁") and row(hot, 197, scale).plain.endswith("███")
    assert header(197, True, scale).plain.endswith("temperature before, 41 to 101 °C")
    drawn = _cells_of(details([cool, hot], 0, 190, 20))
    assert any("▁▁▁" in one for one in drawn) and any("███" in one for one in drawn)
    plotted = _cells_of(details([cool, hot], 0, 190, 44))
    assert len(plotted) == 2 and all("110┤" in one and " 41┤" in one for one in plotted)
    assert temperatures([GpuNow(card())]) is None


def test_a_gpu_without_any_sensor_is_one_sentence_and_one_value_is_enough_for_the_columns() -> None:
    for width in (80, 120, 200):
        bare = row(GpuNow(amd_gpu(3)), width).plain
        assert bare.split() == ["3", *["nothing", "is", "known", "about", "its", "sensors"]], width
        one = row(GpuNow(amd_gpu(3, busy_percent=7)), width).plain
        assert "7 %" in one and one.count("unknown") >= 3
    assert "asleep" in row(GpuNow(amd_gpu(3, runtime_status="suspended")), 120).plain
    others = (amd_gpu(3, busy_percent=7), amd_gpu(3, runtime_status="suspended"))
    assert nothing_known(GpuNow(amd_gpu(3))) and not any(nothing_known(GpuNow(one)) for one in others)
    assert not nothing_known(GpuNow(amd_gpu(3), silent_s=3.0))


def test_that_nothing_is_found_of_a_gpu_is_not_all_where_its_verdicts_are_unknown() -> None:
    gpu, other = card(), replace(card(), index=5)
    known = [Verdict("a", gpu.subject, "pass"), Verdict("b", other.subject, "unknown", why="not asked")]
    assert no_finding(gpu, known) == f"no finding of {gpu.label}"
    assert no_finding(gpu, [*known, Verdict("c", gpu.subject, "unknown", why="not asked")]).endswith(
        "; 1 of its verdicts are unknown"
    )
