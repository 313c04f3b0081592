"""Opening a screen is cheap: its module is there, its rules alone are parsed; it has the colours of the theme."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from textual.css.parse import parse
from textual.pilot import Pilot

from rocdoctor.tui import areas, drop_orders, kept_rules
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.areas import AREAS
from rocdoctor.tui.kept_rules import KeptRules
from tests.tui.kit import driven, fixture_host
from tools.docs.pictures import settled, svg


def test_rules_are_parsed_once_for_a_theme_and_not_again_for_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[object] = []
    again: list[str] = []

    def one(scope: str, css: str, read_from: tuple[str, str], **named: Any) -> Any:
        parsed.append((scope, read_from, named.get("tie_breaker")))
        return parse(scope, css, read_from, **named)

    monkeypatch.setattr("textual.css.stylesheet.parse", one)
    monkeypatch.setattr(kept_rules, "_parsed", {})

    async def open_all(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        monkeypatch.setattr(KeptRules, "reparse", lambda self: again.append("all"))
        for area in AREAS:
            await app.action_area(area.module)
            await settled(app, pilot)
            assert app.current_mode == area.module
        monkeypatch.undo()

    driven(fixture_host("recorded-cpu-vm"), open_all)
    assert again == [], "opening a screen styles that screen alone"
    assert len(parsed) > 20 and len(parsed) == len(set(parsed))


def test_rules_are_kept_for_their_colours_alone_and_not_where_colours_have_another_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kept_rules, "_parsed", {})

    def colour(sheet: KeptRules) -> Any:
        return sheet.rules[0].styles.color.hex

    sheets = []
    for named in ("#ff0000", "#00ff00"):
        sheet = KeptRules(variables={"mine": named})
        sheet.add_source("A { color: $mine; }", ("a", ""))
        assert colour(sheet) == named.upper()
        sheets.append(sheet)
    sheets[0].set_variables({"mine": "#00ff00"})
    sheets[0].reparse()
    assert colour(sheets[0]) == "#00FF00" and sheets[0].rules[0] is sheets[1].rules[0]
    del sheets[0]._variables
    monkeypatch.setattr(KeptRules, "_variable_tokens", {})
    assert sheets[0]._parse_rules("B { color: red; }", ("b", ""))[0].selector_names


def test_the_first_frame_waits_for_nothing_that_collects_or_judges() -> None:
    names = ("cli.commands.tui", "service.evidence", "tui.app", "tui.overview.screen")
    program = f"import sys, {', '.join(f'rocdoctor.{one}' for one in names)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    heavy = ("rocdoctor.collect", "rocdoctor.judging", "rocdoctor.model.facts", "rocdoctor.report", "yaml")
    assert "rocdoctor.tui.overview.screen" in loaded
    assert [one for one in loaded if one.startswith(heavy)] == []


def test_the_modules_of_all_screens_are_read_in_behind_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def importing(name: str) -> ModuleType:
        read.append(name)
        return import_module(name)

    monkeypatch.setattr(areas, "import_module", importing)

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> list[str]:
        return [*read]

    names = driven(fixture_host("recorded-cpu-vm"), look)
    assert {f"rocdoctor.tui.{area.module}.screen" for area in AREAS} < set(names)
    assert "rocdoctor.tui.topology.drawing" in names
    assert {"rocdoctor.service.emitting", "rocdoctor.host.masking.masker"} < set(names), (
        "what Plan and Bundle work with"
    )


def test_reading_in_stops_when_the_app_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(areas, "import_module", read.append)
    areas.read_in(lambda: len(read) == 2)
    assert len(read) == 2


def test_a_screen_opened_after_a_change_of_theme_has_its_colours() -> None:
    async def light_first(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
        app.theme = "textual-light"
        await pilot.press("7")
        await settled(app, pilot)
        return svg(app)

    async def light_last(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[str, str]:
        await pilot.press("7")
        await settled(app, pilot)
        dark = svg(app)
        await pilot.press("1")
        app.theme = "textual-light"
        await pilot.press("7")
        await settled(app, pilot)
        assert any('theme = "textual-light"' in one.message for one in app._notifications), "how to keep it is said"
        return dark, svg(app)

    host = fixture_host("recorded-cpu-vm")
    dark, later = driven(host, light_last)
    assert driven(host, light_first) == later != dark


def test_the_environment_has_textual_do_nothing_for_root() -> None:
    """TEXTUAL_LOG of another user, as su leaves it, named a link of theirs: root wrote into what it led to."""
    looks = {"TEXTUAL_ANIMATIONS": "none", "TERM": "xterm"}
    found = {**looks, "TEXTUAL_LOG": "/tmp/x", "TEXTUAL_DRIVER": "m:D", "TEXTUAL_PRESS": "q", "TEXTUAL_SCREENSHOT": "1"}
    drop_orders(found)
    assert found == looks


def test_the_screens_drop_them_before_textual_looks() -> None:
    code = (
        "import os, sys, types; os.environ['TEXTUAL_LOG'] = 'x';"
        "named = types.ModuleType('rocdoctor.host.live.trust'); named.privileged = lambda: True;"
        "sys.modules[named.__name__] = named;"
        "import rocdoctor.tui; assert 'textual' not in sys.modules; sys.exit('TEXTUAL_LOG' in os.environ)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
