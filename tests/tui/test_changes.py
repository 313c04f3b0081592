"""What changed on a live machine, with the time: findings, values, the kernel log; and where a person sees it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from textual.pilot import Pilot

from rocdoctor.collect import collect
from rocdoctor.host.base import Answer
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.finding import Diagnosis
from rocdoctor.service.session import chosen_checks
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.changes import SeenChange, change_lines, changes
from tests.tui.kit import driven, fixture_host, shown, until
from tests.tui.thermals.live_kit import LiveFixture, temperature

_VRAM = "read /sys/class/drm/card1/device/mem_info_vram_used"
_LINK = "read /sys/bus/pci/devices/0000:{}:00.0/current_link_width"
_NARROW = {_LINK.format(end): "4\n" for end in ("68", "6a")}  # both ends of the link of gpu 3
_LOG = "run dmesg"


def _seen(texts: Mapping[str, str] | None = None, name: str = "mi300x-8gpu") -> Diagnosis:
    answers = {one: Answer(one, "ok", text.encode()) for one, text in (texts or {}).items()}
    return diagnose(collect(OverlayHost(fixture_host(name), answers)), chosen_checks((), ())[0])


def _said(before: Diagnosis, now: Diagnosis) -> list[str]:
    return [one.said for one in changes(before, now, 0.0)]


def test_two_equal_looks_differ_in_nothing() -> None:
    assert changes(_seen(), _seen(), 0.0) == ()


def test_a_link_that_falls_back_is_a_finding_and_a_value_of_its_gpu_the_finding_first() -> None:
    before, now = _seen(), _seen(_NARROW)
    found = changes(before, now, 7.0)
    assert [(one.kind, one.where, one.severity, one.at) for one in found] == [
        ("found", "gpu 3", "warning", 7.0),
        ("value", "gpu 3", None, 7.0),
    ]
    assert "pcie-link-narrow" in found[0].words and found[1].words == "PCIe lanes in use: 16 before, 4 now"
    assert "gpu 3: pcie-link-narrow is not found any more" in _said(now, before)


def test_a_link_that_no_trait_stands_for_is_told_too_and_no_link_twice() -> None:
    found = _said(_seen(), _seen(_NARROW))
    assert not any("PCIe link: " in one for one in found), found
    cloud = "a10g-8gpu-cloud"  # in a virtual machine, whose links are not compared
    now = _seen({"read /sys/bus/pci/devices/0000:00:16.0/current_link_width": "4\n"}, cloud)
    assert "gpu 0: PCIe link: x16 before, x4/16 now" in _said(_seen(name=cloud), now)


def test_a_finding_that_cannot_be_judged_any_more_is_not_said_to_be_gone() -> None:
    before = _seen(_NARROW)
    found = [one for one in before.verdicts if one.check == "pcie-link-narrow" and one.finding is not None]
    silent = [replace(one, state="unknown", finding=None, why="denied") for one in found]
    now = replace(before, verdicts=(*(one for one in before.verdicts if one not in found), *silent))
    assert not any("pcie-link-narrow is not found" in one for one in _said(before, now))
    assert "gpu 3: pcie-link-narrow is unknown now" in _said(before, now)


def test_what_several_gpus_have_alike_is_one_line() -> None:
    found = _said(_seen(), _seen(_NARROW | {_LINK.format(end): "4\n" for end in ("08", "0a")}))
    assert [one for one in found if "lanes in use" in one] == ["gpu 0,3: PCIe lanes in use: 16 before, 4 now"], found


def test_heat_and_memory_are_told_where_they_pass_a_mark_and_not_for_each_degree() -> None:
    heat = temperature(1, 1)
    cool, hot = _seen({heat: "80000\n"}), _seen({heat: "98000\n"})
    assert "gpu 0: junction 98 of 100 °C, near its limit" in _said(cool, hot)
    assert any("below its limit again" in one for one in _said(hot, cool))
    assert not [one for one in changes(cool, _seen({heat: "84000\n"}), 0.0) if "°C" in one.words]
    gib = 2**30
    empty, full = _seen({_VRAM: "0"}), _seen({_VRAM: str(150 * gib)})
    assert "gpu 0: memory in use: 0 bytes before, 150 GiB now" in _said(empty, full)
    assert not any("memory in use:" in one for one in _said(empty, _seen({_VRAM: str(20 * gib)})))


def test_new_lines_of_the_kernel_log_are_told_once_each_and_with_their_gpu() -> None:
    line = "[  {}.000000] amdgpu 0000:6a:00.0: amdgpu: ring comp_1.0.0 timeout, signaled seq=10, emitted seq=12\n"
    one, three = _seen({_LOG: line.format(100)}), _seen({_LOG: "".join(line.format(at) for at in (100, 200, 300))})
    assert not any("kernel:" in said for said in _said(one, one))
    told = [said for said in _said(one, three) if said.startswith("gpu 3: kernel:")]
    assert len(told) == 1 and "ring comp_1.0.0 timeout" in told[0] and told[0].endswith("(2 times)"), told
    many = _seen({_LOG: "".join(line.format(at) for at in range(100, 140))})
    assert "kernel: 34 more lines of this kind" in _said(one, many)


def test_the_newest_stand_first_with_their_time_and_the_rest_is_counted() -> None:
    assert change_lines((), 0.0, 5, 80).plain.startswith("nothing since ")
    each = tuple(SeenChange(60.0 * at, "value", "gpu 3", f"value {at}") for at in (4, 3, 2, 1))
    lines = change_lines(each, 0.0, 2, 80).plain.splitlines()
    clock = time.strftime("%H:%M:%S", time.localtime(240))
    assert lines[0] == f"{clock}  gpu 3: value 4" and lines[1].endswith("value 3")
    assert lines[2].startswith("and 2 before that")


def test_the_overview_keeps_what_changed_with_its_time_at_every_width() -> None:
    for size, before in (((200, 60), "nothing since "), ((80, 40), "")):
        host = LiveFixture("mi300x-8gpu")

        async def drive(app: RocdoctorApp, pilot: Pilot[Any], before: str = before, host: LiveFixture = host) -> None:
            assert before in shown(app)
            host.texts |= _NARROW
            app._look_again()
            await until(pilot, lambda: app._again_look is None)
            await until(pilot, lambda: "PCIe lanes in use: 16 before, 4 now" in shown(app))
            assert f"{app.changes[0].clock}  gpu 3: The PCIe link" in shown(app)

        driven(host, drive, size)


def test_another_machine_begins_with_no_changes() -> None:
    host = LiveFixture("mi300x-8gpu")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        host.texts |= _NARROW
        app._look_again()
        await until(pilot, lambda: bool(app.changes))
        app.open(fixture_host("mi210-8gpu"))
        await until(pilot, lambda: not app.look.busy)
        assert app.changes == ()
        assert "nothing since" not in shown(app), "evidence does not change"

    driven(host, drive, (200, 60))
