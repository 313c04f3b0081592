"""What the topology screen looks like at both sizes."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from rocdoctor.model.finding import Diagnosis
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.look import Look
from tests.tui.kit import SIZES, fixture_host, same_picture
from tests.tui.topology.topology_kit import big
from tests.tui.topology.topology_screen_kit import narrow_link, on_topology


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("rx6700xt-override", ()), ("strix-halo", ()), ("mi300x-8gpu", ("down", "down")), ("mi300x-8gpu-cpx", ()),
        ("mi250-4module", ("m",)), ("h100-8gpu", ("m",)), ("recorded-cpu-vm", ()),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_the_topology_looks_as_it_should(
    request: pytest.FixtureRequest, name: str, keys: tuple[str, ...], size: tuple[int, int]
) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await same_picture(request, app, pilot, f"topology-{name}")

    on_topology(fixture_host(name), look, size, keys)


@pytest.mark.parametrize("size", SIZES)
def test_a_narrow_link_looks_as_it_should(request: pytest.FixtureRequest, size: tuple[int, int]) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await same_picture(request, app, pilot, "topology-narrow-link")

    on_topology(narrow_link(), look, size, ("down", "down", "down"))


@pytest.mark.parametrize("size", SIZES)
def test_32_gpus_look_as_they_should(request: pytest.FixtureRequest, size: tuple[int, int]) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        app.look = Look("done", Diagnosis(big(), (), ()))
        await pilot.pause()
        for _ in range(5):
            await pilot.press("down")
        await pilot.pause()
        await same_picture(request, app, pilot, "topology-32gpu")

    on_topology(fixture_host("mi300x-8gpu"), look, size)
