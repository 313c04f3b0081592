"""Which process holds a GPU, as the screen of temperatures says it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.collect.gpus.gpu_users import GpuUser, GpuUsers
from rocdoctor.host.base import Answer
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.thermals.gpu_users import judge_command, user_lines
from rocdoctor.tui.thermals.looking import no_values
from tests.kit import amd_gpu, nvidia_gpu
from tests.tui.kit import driven, fixture_host, shown, until
from tests.tui.thermals.live_kit import LiveFixture

_GIB = 2**30
_TWO = (GpuUser(4121, "python3", 7200, 12 * _GIB), GpuUser(77, "ollama", 90_000))


def _said(users: GpuUsers, place: int = 0, width: int = 100) -> str:
    return user_lines(users, place, width).plain


def test_each_process_has_its_pid_name_memory_and_age_and_the_first_a_command() -> None:
    users = GpuUsers({0: _TWO, 1: ()})
    assert _said(users).splitlines() == [
        "held by     process 4121 python3: 12 GiB, running for 2 h",
        "            process 77 ollama: has it open, running for 25 h",
        "            rocdoctor check --pid 4121 judges it",
    ]
    assert judge_command(users, 0) == "rocdoctor check --pid 4121" and judge_command(users, 1) == ""


def test_nobody_is_said_only_where_everything_could_be_looked_into() -> None:
    assert _said(GpuUsers({0: ()})).split() == ["held", "by", "nobody"]
    hidden = _said(GpuUsers({0: ()}, hidden=3))
    assert (
        "no process that can be seen from here" in hidden and "3 processes of other users could not be read" in hidden
    )
    unknown = _said(GpuUsers({0: ()}, why="no answer within 5s"))
    assert "held by     unknown" in unknown and "no answer within 5s" in unknown and "nobody" not in unknown


def test_a_process_whose_name_is_hidden_keeps_its_number_and_many_are_counted() -> None:
    users = GpuUsers({0: tuple(GpuUser(pid, vram_bytes=_GIB) for pid in range(1, 11))})
    assert "process 1 (its name cannot be seen from here): 1 GiB" in _said(users)
    assert "and 4 more processes" in _said(users) and "process 7 " not in _said(users)


def test_a_process_without_a_name_is_not_offered_to_be_judged() -> None:
    """In a container its number is the host's, so it names another process here, or none."""
    nameless = GpuUser(31, vram_bytes=40 * _GIB)
    alone = GpuUsers({0: (nameless,)})
    assert judge_command(alone, 0) == "" and "check --pid" not in _said(alone)
    assert judge_command(GpuUsers({0: (nameless, *_TWO)}), 0) == "rocdoctor check --pid 4121"
    within = user_lines(alone, 0, 100, inside=True).plain
    assert "process 31 (perhaps the host's number" in within and "outside this container may be invisible" in within
    assert "no process that can be seen from here" in user_lines(GpuUsers({0: ()}), 0, 100, inside=True).plain


def test_of_a_gpu_whose_processes_nobody_can_tell_it_is_not_said_that_nobody_holds_it() -> None:
    untold = _said(GpuUsers({0: (), 1: ()}, untold={1: "nvidia-smi is missing"}), 1)
    assert "held by     unknown" in untold and "(nvidia-smi is missing)" in untold


def test_before_anybody_asked_nothing_is_said() -> None:
    assert user_lines(None, 0, 80).plain == "" and judge_command(None, None) == ""


def test_the_screen_shows_who_holds_the_selected_gpu_and_copies_the_command() -> None:
    host = LiveFixture("rx7900xtx-2gpu")
    host.texts["holders gpu"] = "4121 7200 /dev/dri/renderD128,/dev/kfd python3"

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        copied: list[str] = []
        app.copy = lambda text, what: copied.append(text)  # type: ignore[method-assign]
        await pilot.press("4")
        await until(pilot, lambda: "process 4121 python3: has it open, running for 2 h" in shown(app))
        await pilot.press("c")
        await until(pilot, lambda: copied == ["rocdoctor check --pid 4121"])

    driven(host, drive, (100, 50))


def test_the_screen_says_within_a_container_that_others_may_hold_the_gpu() -> None:
    host = LiveFixture("rx7900xtx-2gpu")
    host.texts |= {"holders gpu": "", "read /.dockerenv": ""}

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        await until(pilot, lambda: "no process that can be seen from here" in shown(app))
        assert "c Copy command" not in shown(app)

    driven(host, drive, (100, 50))


def test_recorded_evidence_says_who_held_the_gpu_or_that_it_does_not_know() -> None:
    said = Answer("holders gpu", "ok", b"4121 7200 /dev/dri/renderD128,/dev/kfd python3")
    told = OverlayHost(fixture_host("rx7900xtx-2gpu"), {"holders gpu": said})

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        await until(pilot, lambda: "process 4121 python3: has it open, running for 2 h" in shown(app))
        app.open(fixture_host("rx7900xtx-2gpu"))
        await until(pilot, lambda: "not recorded" in shown(app))
        assert "4121" not in shown(app)

    driven(told, look, (100, 50))


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 60)])
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("faulty/mi300x-8gpu-tired", "rocm-smi --showpids"),
        ("a10g-8gpu-cloud", "nvidia-smi"),
        ("arc-b580", "rocdoctor (key 4)"),
    ],
)
def test_a_recording_says_which_command_shows_the_process(name: str, command: str, size: tuple[int, int]) -> None:
    """Without scrolling, also with eight GPUs on a small terminal."""
    way = f"not recorded; on that machine {command} shows it"

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        await until(pilot, lambda: way in " ".join(re.sub("[\u2581-\u2588]", "", shown(app)).split()))  # a scrollbar

    driven(fixture_host(name), look, size)


def test_a_recording_without_sensors_says_it_too() -> None:
    gpus = [amd_gpu(0), amd_gpu(1), nvidia_gpu(2)]
    text = no_values(gpus).plain
    assert "no sensor values for gpu 0-2" in text
    assert "on that machine rocm-smi --showpids or nvidia-smi shows it" in text


def test_many_processes_leave_room_for_the_values_of_a_small_terminal() -> None:
    users = GpuUsers({0: tuple(GpuUser(pid, "python3") for pid in range(1, 9))})
    text = user_lines(users, 0, 80, most=2).plain
    assert "process 2 python3" in text and "process 3" not in text and "and 6 more processes" in text


def test_the_gpu_at_fault_is_the_one_that_is_selected_first() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("4")
        await until(pilot, lambda: "gpu 3 (0000:6a:00.0)" in shown(app))
        await pilot.press("up")
        await until(pilot, lambda: "gpu 2 (0000:4a:00.0)" in shown(app))

    driven(fixture_host("faulty/mi300x-8gpu-tired"), look, (80, 24))
