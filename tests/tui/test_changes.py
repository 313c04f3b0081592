"""What changed on a live machine, with the time: findings, values, the kernel log; and where a person sees it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.collect import collect
from rocdoctor.host.base import Answer
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.evidence import Known, Source, Unknown
from rocdoctor.model.facts import Pcie
from rocdoctor.model.finding import Diagnosis
from rocdoctor.service.session import chosen_checks
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.changes import SeenChange, change_line, change_lines, changes
from tests.kit import SOURCE
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
    assert "gpu 3: pcie-link-narrow is no longer found" in _said(now, before)


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


def test_a_finding_that_was_not_known_before_is_known_now_and_not_new() -> None:
    now = _seen(_NARROW)
    found = [one for one in now.verdicts if one.check == "pcie-link-narrow" and one.finding is not None]
    others = tuple(one for one in now.verdicts if one not in found)
    for state in ("unknown", "crashed"):
        silent = tuple(replace(one, state=state, finding=None, why="denied") for one in found)
        told = changes(replace(now, verdicts=(*others, *silent)), now, 0.0)
        assert [(one.kind, one.where, one.severity) for one in told] == [("known", "gpu 3", "warning")]
        assert told[0].words.startswith("was unknown; now: The PCIe link"), told
    passed = tuple(replace(one, state="pass", finding=None) for one in found)
    assert [one.kind for one in changes(replace(now, verdicts=(*others, *passed)), now, 0.0)] == ["found"]
    nobody = tuple(one for one in now.verdicts if one.check != "pcie-link-narrow")
    assert {one.kind for one in changes(replace(now, verdicts=nobody), now, 0.0)} == {"known"}, "it did not run"


def _of_gpu(seen: Diagnosis, at: int, **values: Any) -> Diagnosis:
    gpus = tuple(replace(one, **values) if one.index == at else one for one in seen.machine.gpus)
    return replace(seen, machine=replace(seen.machine, gpus=gpus))


def test_a_link_that_only_one_look_knows_has_not_changed() -> None:
    cloud = "a10g-8gpu-cloud"
    known = _seen(name=cloud)
    unknown = _of_gpu(known, 0, pcie=Pcie())
    assert changes(unknown, known, 0.0) == () and changes(known, unknown, 0.0) == ()
    bare, whole = _seen(dict.fromkeys(_NARROW, "")), _seen()  # one of several links on the way
    assert not {one.kind for one in changes(bare, whole, 0.0)} & {"value", "found"}


def test_what_another_source_says_has_not_changed() -> None:
    seen = _seen()
    gpu = seen.machine.gpus[2]
    other = Source("run lspci -nn")
    name, memory = Known("MI300X (another spelling)", other), Known(1 << 34, other)
    assert _said(seen, _of_gpu(seen, 2, vbios=name, vram_used_bytes=memory)) == []
    assert isinstance(gpu.vbios, Known)
    changed = _of_gpu(seen, 2, vbios=Known("113-NEW", gpu.vbios.source))
    assert _said(seen, changed) == [f"gpu 2: VBIOS: {gpu.vbios.value} before, 113-NEW now"]


def test_heat_and_throttling_of_which_nothing_was_known_are_known_now() -> None:
    hot = _seen({temperature(1, 1): "98000\n"})
    before = _of_gpu(hot, 0, temps=())
    assert [(one.kind, one.said) for one in changes(before, hot, 0.0)] == [
        ("known", "gpu 0: was unknown; now: junction 98 of 100 °C, near its limit")
    ]
    slow = _of_gpu(hot, 0, throttle=Known(("ppt0",), SOURCE))
    silent = _of_gpu(hot, 0, throttle=Unknown("denied"))
    assert _said(silent, slow) == ["gpu 0: was unknown; now: throttling is reported: ppt0"]
    assert _said(_of_gpu(hot, 0, throttle=Known((), SOURCE)), slow) == ["gpu 0: throttling is reported: ppt0"]


def test_another_kernel_log_has_no_new_lines_and_what_rests_on_it_is_known_now() -> None:
    line = "[  100.000000] amdgpu 0000:6a:00.0: amdgpu: ring comp_1.0.0 timeout, signaled seq=10, emitted seq=12\n"
    before, now = _seen({_LOG: "[    1.000000] Linux version 6.8.0\n"}), _seen({_LOG: line})
    assert any("kernel: " in one for one in _said(before, now))
    journal = Source("run journalctl -k")
    assert isinstance(before.machine.kernel.log, Known)
    assert isinstance(now.machine.kernel.log, Known)
    log = Known(replace(before.machine.kernel.log.value, source=journal.question), journal)
    kernel = replace(before.machine.kernel, log=log)
    told = changes(replace(before, machine=replace(before.machine, kernel=kernel)), now, 0.0)
    assert {one.kind for one in told} == {"known"} and any("(ring-timeout)" in one.words for one in told), told
    cut = replace(before.machine.kernel.log.value, complete=False)
    whole = replace(now.machine.kernel, log=Known(replace(now.machine.kernel.log.value, complete=True), SOURCE))
    part = replace(before.machine.kernel, log=Known(cut, SOURCE))
    sides = [replace(one, machine=replace(one.machine, kernel=log)) for one, log in ((before, part), (now, whole))]
    assert not any("kernel: " in one for one in _said(*sides)), "it reaches further back"


def _without(seen: Diagnosis, at: int) -> Diagnosis:
    """The machine without a GPU: those behind it have other numbers."""
    kept = [one for one in seen.machine.gpus if one.index != at]
    places = {one.index: place for place, one in enumerate(kept)}
    links = [one for one in seen.machine.links if at not in (one.a, one.b)]
    machine = replace(
        seen.machine,
        gpus=tuple(replace(one, index=places[one.index]) for one in kept),
        links=tuple(replace(one, a=places[one.a], b=places[one.b]) for one in links),
    )
    return diagnose(machine, chosen_checks((), ())[0])


def test_gpus_are_the_same_by_their_address_when_one_drops_out() -> None:
    before = _seen(_NARROW)
    now = _without(before, 0)
    bdf = "0000:0a:00.0"
    told = changes(before, now, 0.0)
    assert not [one for one in told if "pcie-link-narrow" in one.words], "gpu 3 of before is gpu 2 now"
    assert not [one for one in told if one.kind in ("value", "kernel")], told
    assert [one.words for one in told if one.kind == "device"] == [
        f"GPU AMD Instinct MI300X at {bdf} is no longer there"
    ]
    back = changes(now, before, 0.0)
    assert [one.words for one in back if one.kind == "device"] == [f"GPU AMD Instinct MI300X at {bdf} is new"]
    hot = _without(_seen(_NARROW | {temperature(1, 1): "98000\n"}), 1)
    cool = _without(_seen(_NARROW), 1)
    assert _said(cool, hot) == _said(_without(before, 1), hot) != []


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
    assert "kernel: 34 more such lines" in _said(one, many)


def test_the_newest_stand_first_with_their_time_and_the_rest_is_counted() -> None:
    assert change_lines((), 0.0, 5, 80).plain.startswith("nothing since ")
    each = tuple(SeenChange(60.0 * at, "value", "gpu 3", f"value {at}") for at in (4, 3, 2, 1))
    lines = change_lines(each, 0.0, 2, 80).plain.splitlines()
    clock = time.strftime("%H:%M:%S", time.localtime(240))
    assert lines[0] == f"{clock}  gpu 3: value 4" and lines[1].endswith("value 3")
    assert lines[2].startswith("and 2 before that")


def test_the_overview_keeps_what_changed_with_its_time_at_every_width() -> None:
    for size in ((200, 60), (80, 40)):
        host = LiveFixture("mi300x-8gpu")

        async def drive(app: RocdoctorApp, pilot: Pilot[Any], host: LiveFixture = host) -> None:
            assert "nothing since " in shown(app)
            host.texts |= _NARROW
            app._look_again()
            await until(pilot, lambda: app._again_look is None)
            await until(pilot, lambda: "PCIe lanes in use: 16 before, 4 now" in shown(app))
            assert f"{app.changes[0].clock}  gpu 3: The PCIe link" in shown(app)

        driven(host, drive, size)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 60)])
def test_the_overview_is_never_silent_about_what_changed(size: tuple[int, int]) -> None:
    """Without scrolling: of a recording how to find out, of a live machine the newest and how many there were."""
    way = "changed unknown: this is one moment; key 0 compares it with another"

    def words(app: RocdoctorApp) -> str:
        return " ".join(shown(app).replace("\u2502", " ").split())

    async def recording(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: way in words(app))

    driven(fixture_host("faulty/mi300x-8gpu-tired"), recording, size)
    host = LiveFixture("mi300x-8gpu")

    async def live(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "nothing since " in words(app))
        assert way not in words(app)
        host.texts |= _NARROW
        app._look_again()
        await until(pilot, lambda: bool(app.changes))
        newest = f"{app.changes[0].clock} gpu 3: The PCIe link"
        await until(pilot, lambda: newest in words(app))

    driven(host, live, size)


def test_one_line_has_the_newest_change_and_counts_the_others() -> None:
    each = tuple(SeenChange(60.0 * at, "value", "gpu 3", f"value {at}") for at in (3, 2, 1))
    clock = time.strftime("%H:%M:%S", time.localtime(180))
    assert change_line(each, 0.0) == f"{clock} gpu 3: value 3; 2 before that"
    assert change_line(each[2:], 0.0).endswith("gpu 3: value 1")
    assert change_line((), 0.0).startswith("nothing since ")


def test_a_look_that_failed_loses_nothing_of_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    host = LiveFixture("mi300x-8gpu")

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        host.texts |= _NARROW
        app._look_again()
        await until(pilot, lambda: bool(app.changes))
        kept, since = app.changes, app.since
        with monkeypatch.context() as broken:
            broken.setattr("rocdoctor.collect.collect", lambda *_, **__: 1 / 0)
            await pilot.press("r")
            await until(pilot, lambda: app.look.phase == "failed")
        assert (app.changes, app.since) == (kept, since)
        host.texts |= dict.fromkeys(_NARROW, "16\n")
        await pilot.press("r")
        await until(pilot, lambda: app.look.phase == "done")
        assert app.changes[-len(kept) :] == kept and app.since == since
        assert "PCIe lanes in use: 4 before, 16 now" in [one.words for one in app.changes], "since the last good look"

    driven(host, drive, (200, 60))


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
