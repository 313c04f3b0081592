"""A temperature at its limit is told on every screen, with the GPU, the value and since when."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import Gpu, Temperature
from rocdoctor.tui.alarms import Alarms
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.config import Config
from rocdoctor.tui.widgets.ask import Ask
from tests.kit import amd_gpu, k
from tests.tui.kit import driven, fixture_host, shown, until
from tests.tui.thermals.live_kit import LiveFixture, temperature
from tools.docs.pictures import settled


def _gpu(index: int, *temps: tuple[str, float | None, float | None]) -> Gpu:
    sensors = tuple(
        Temperature(
            label,
            k(now) if now is not None else Unknown("no answer", "timeout"),
            crit_c=k(limit) if limit is not None else Unknown("not stated", "absent"),
        )
        for label, now, limit in temps
    )
    return amd_gpu(index=index, temps=sensors)


def test_an_alarm_begins_at_the_limit_and_ends_two_degrees_below_it() -> None:
    alarms, told = Alarms(), list[tuple[float, int, str]]()
    for at, degrees in enumerate((99.0, 100.0, 101.0, 99.0, 100.0, 98.0, 99.0, 100.0)):
        new = alarms.see([_gpu(3, ("junction", degrees, 100.0))], f"14:00:0{at}")
        told.append((degrees, len(new), alarms.words))
    since, back = "since 14:00:01", "reached at 14:00:01"
    assert told == [
        (99.0, 0, ""),
        (100.0, 1, f"gpu 3 junction 100 of 100 °C {since}"),
        (101.0, 0, f"gpu 3 junction 101 of 100 °C {since}"),
        (99.0, 0, f"gpu 3 junction 99 of 100 °C, {back}"),
        (100.0, 0, f"gpu 3 junction 100 of 100 °C {since}"),
        (98.0, 0, ""),
        (99.0, 0, ""),
        (100.0, 1, "gpu 3 junction 100 of 100 °C since 14:00:07"),
    ]


def test_what_is_not_known_is_no_alarm() -> None:
    alarms = Alarms()
    for gpu in (
        _gpu(0, ("edge", 150.0, None)),  # no limit stated
        _gpu(0, ("edge", None, 100.0)),  # no answer
        _gpu(0, ("edge", 511.0, 100.0)),  # no chip has this
        _gpu(0),
    ):
        assert alarms.see([gpu], "14:00:00") == ()
        assert alarms.words == ""


def test_the_farthest_above_its_limit_is_named_and_the_others_are_counted() -> None:
    alarms = Alarms()
    hot = [_gpu(0, ("edge", 100.0, 100.0), ("mem", 101.0, 101.0)), _gpu(1, ("mem", 99.0, 95.0)), _gpu(2)]
    assert len(alarms.see(hot, "14:00:00")) == 3
    assert alarms.words == "gpu 1 mem 99 of 95 °C since 14:00:00 (and 1 more GPU)"


def test_the_users_limit_counts_where_it_is_lower_or_the_card_states_none() -> None:
    alarms = Alarms()
    gpus = [_gpu(0, ("junction", 86.0, 110.0)), _gpu(1, ("edge", 85.0, None)), _gpu(2, ("mem", 84.9, 95.0))]
    assert alarms.see(gpus, "14:00:00") == ()
    assert [(one.gpu, one.limit_c, one.own) for one in alarms.see(gpus, "14:00:01", 85.0)] == [
        (0, 85.0, True),
        (1, 85.0, True),
    ]
    assert alarms.words == "gpu 0 junction 86 of 85 °C, your limit, since 14:00:01 (and 1 more GPU)"
    assert alarms.see([_gpu(0, ("junction", 84.0, 110.0))], "14:00:02", 85.0) == ()
    assert alarms.words == "gpu 0 junction 84 of 85 °C, your limit, reached at 14:00:01"
    steps = (("14:00:05", 86.0), ("14:00:06", 100.0), ("14:00:07", 99.0), ("14:00:08", 90.0))
    new = [alarms.see([_gpu(0, ("junction", now, 100.0))], clock, 85.0) for clock, now in steps]
    assert [[(one.limit_c, one.own) for one in told] for told in new] == [
        [],
        [(100.0, False)],
        [],
        [(85.0, True)],
    ], "at the card's limit that one is told"
    assert alarms.words == "gpu 0 junction 90 of 85 °C, your limit, since 14:00:08"
    cards = [_gpu(0, ("junction", 101.0, 100.0))]
    assert [one.own for one in alarms.see(cards, "14:00:03", 110.0)] == [False], "the card's is lower"
    assert alarms.see(cards, "14:00:04", None) != (), "another limit begins anew"


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 60)])
def test_a_limit_is_set_on_the_screen_and_taken_back(size: tuple[int, int]) -> None:
    host = LiveFixture("rx7900xtx-2gpu")
    host.texts[temperature(0, 3)] = "81000"

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        told: list[str] = []
        app.notify = lambda words, **_: told.append(words)  # type: ignore[method-assign]

        async def answer(text: str) -> None:
            await pilot.press("a")
            await until(pilot, lambda: isinstance(app.screen, Ask))
            app.screen.query_one(Input).value = text
            await pilot.press("enter")
            await until(pilot, lambda: not isinstance(app.screen, Ask))

        await pilot.press("4")
        await until(pilot, lambda: "last answer" in shown(app))
        assert "! gpu" not in shown(app) and "alarm at" not in shown(app)
        await answer("hot")
        assert app.alarm_c is None and told == ["'hot' is not a number from 30 to 120, and not off"]
        told.clear()
        await answer("80")
        await until(pilot, lambda: shown(app).startswith(" rocdoctor  ! gpu 0 mem 81 of 80 °C, your limit"), 5)
        assert told[0].startswith("alarm at 80 °C; to keep it: alarm = 80 in ")
        assert told[1].endswith("gpu 0: mem has reached your limit of 80 °C")
        await pilot.press("full_stop")
        await until(pilot, lambda: "alarm at 80 °C" in shown(app) and "own limit" in shown(app))
        await answer("off")
        await until(pilot, lambda: "! gpu" not in shown(app).splitlines()[0], 5)
        await pilot.press("full_stop")
        await until(pilot, lambda: "own limit" not in shown(app))
        assert app.alarm_c is None

    driven(host, look, size)


def test_the_limit_of_the_file_counts_from_the_first_look() -> None:
    host = LiveFixture("rx7900xtx-2gpu")
    host.texts[temperature(0, 3)] = "81000"

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        app.config = Config(alarm_c=80.0)
        await pilot.press("r")
        await until(pilot, lambda: app.alarm.startswith("gpu 0 mem 81 of 80 °C, your limit, since "), 10)

    driven(host, look)


@pytest.mark.parametrize(("size", "bell"), [((60, 20), False), ((80, 24), True), ((200, 60), False)])
def test_it_stands_on_every_screen_while_it_lasts(
    size: tuple[int, int], bell: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, rung = LiveFixture("rx7900xtx-2gpu"), list[int]()
    monkeypatch.setattr(RocdoctorApp, "bell", lambda app: rung.append(1))

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        app.config = Config(bell=bell)
        await pilot.press("4")
        await until(pilot, lambda: "last answer" in shown(app))
        top = shown(app).splitlines()[0]
        assert "!" not in top
        host.texts[temperature(0, 3)] = "109000"
        await pilot.press("full_stop")
        said = " rocdoctor  ! gpu 0 mem 109 of 108 °C since "
        await until(pilot, lambda: shown(app).startswith(said), 5)
        for key in "1235678":
            await pilot.press(key)
            await until(pilot, lambda: shown(app).startswith(said), 5)
        assert len(rung) == bell
        told = [str(one.message) for one in app._notifications]
        assert [one.split(" ", 1)[1] for one in told] == ["gpu 0: mem has reached its limit of 108 °C"]
        await pilot.press("4")
        host.texts[temperature(0, 3)] = "80000"
        await pilot.press("full_stop")
        await until(pilot, lambda: "! gpu" not in shown(app).splitlines()[0])
        assert len(rung) == bell

    driven(host, look, size)


def test_other_evidence_has_no_alarm_of_this_machine() -> None:
    host = LiveFixture("rx7900xtx-2gpu")
    host.texts[temperature(0, 3)] = "109000"

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        assert app.alarm.startswith("gpu 0 mem 109 of 108 °C since ")  # of the first look already
        app.open(fixture_host("mi300x-8gpu"))
        await settled(app, pilot)
        assert app.alarm == ""
        assert "! gpu" not in shown(app)

    driven(host, look)
