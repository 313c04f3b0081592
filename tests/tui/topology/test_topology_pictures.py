"""What the topology screen looks like."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.model.finding import Diagnosis
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.look import Look
from tests.tui.kit import NARROW, WIDE, fixture_host, same_picture
from tests.tui.topology.topology_kit import big
from tests.tui.topology.topology_screen_kit import narrow_link, on_topology


@pytest.mark.parametrize(
    ("name", "keys", "size"),
    [
        ("strix-halo", (), NARROW),
        ("mi300x-8gpu", ("down", "down"), NARROW),
        ("mi300x-8gpu", ("down", "down"), WIDE),
        ("mi250-4module", ("m",), WIDE),
    ],
)
def test_the_topology_looks_as_it_should(
    request: pytest.FixtureRequest, name: str, keys: tuple[str, ...], size: tuple[int, int]
) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await same_picture(request, app, pilot, f"topology-{name}")

    on_topology(fixture_host(name), look, size, keys)


def test_a_narrow_link_looks_as_it_should(request: pytest.FixtureRequest) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await same_picture(request, app, pilot, "topology-narrow-link")

    on_topology(narrow_link(), look, WIDE, tree=False)


def test_32_gpus_look_as_they_should(request: pytest.FixtureRequest) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        app.look = Look("done", Diagnosis(big(), (), ()))
        await pilot.pause()
        for _ in range(5):
            await pilot.press("down")
        await pilot.pause()
        await same_picture(request, app, pilot, "topology-32gpu")

    on_topology(fixture_host("mi300x-8gpu"), look, NARROW)
