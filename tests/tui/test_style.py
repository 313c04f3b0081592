"""Colours: named in one place, read on every background, and right where there are 16 of them or none."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.color import Color, ColorSystem
from rich.console import COLOR_SYSTEMS
from textual.color import Color as Shown
from textual.theme import BUILTIN_THEMES

import rocdoctor.tui
from rocdoctor.insight.gpus.gpu_health import TemperatureReading
from rocdoctor.model.facts import Temperature
from rocdoctor.tui.few_colours import FewColoursApp
from rocdoctor.tui.style import ON_DARK, ON_LIGHT, RISK, UNKNOWN, WRONG, Colour, heat_style
from tests.kit import k, u

_FOLDER = Path(rocdoctor.tui.__file__).parent
_NAMES = {"red": (1, 9), "green": (2, 10), "yellow": (3, 11), "cyan": (6, 14)}


def _backgrounds(theme: str) -> list[Shown]:
    """Those of texts, and of the selected row (app.tcss)."""
    colours = BUILTIN_THEMES[theme].to_color_system().generate()
    plain = [Shown.parse(colours[name]) for name in ("background", "surface")]
    (percent,) = set(re.findall(r"background: \$primary (\d+)%", (_FOLDER / "app.tcss").read_text()))
    return [*plain, *(one.blend(Shown.parse(colours["primary"]), int(percent) / 100) for one in plain)]


def _brightness(colour: Colour) -> float:
    parts = [part / 255 for part in colour]
    linear = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: Colour, other: Colour) -> float:
    """As WCAG 2.1 defines it, https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio (2026-11-24)."""
    high, low = sorted((_brightness(one), _brightness(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_each_colour_is_read_on_every_background() -> None:
    weak = [
        f"{name} on {ground.hex}: {contrast:.1f}"
        for theme, named in (("textual-dark", ON_DARK), ("textual-light", ON_LIGHT))
        for name, colour in named.items()
        for ground in _backgrounds(theme)
        if (contrast := _contrast(colour, (ground.r, ground.g, ground.b))) < 4.5
    ]
    assert weak == []


def test_sixteen_colours_keep_the_order_of_alarm() -> None:
    wrong = [
        f"{name} becomes {number}"
        for name, colour in ON_DARK.items()
        if (number := Color.from_rgb(*colour).downgrade(ColorSystem.STANDARD).number) not in _NAMES[name]
    ]
    assert wrong == []


def test_colours_are_named_in_one_place() -> None:
    named = re.compile(r"""["'](?:bold |not bold )?(?:bright_)?(?:red|green|yellow|cyan|magenta|blue)["']""")
    found = {
        str(path.relative_to(_FOLDER)): named.findall(path.read_text(encoding="utf-8"))
        for path in _FOLDER.rglob("*.py")
        if path.name != "style.py"
    }
    assert {path: names for path, names in found.items() if names} == {}


def test_a_temperature_near_its_limit_is_marked_and_one_that_is_not_known_is_not_an_alarm() -> None:
    def style(now_c: float, crit_c: float | None) -> str:
        return heat_style(TemperatureReading(Temperature("edge", k(now_c), u()), now_c, crit_c, None))

    assert style(94.9, 100.0) == ""
    assert style(95.0, 100.0) == RISK
    assert style(100.0, 100.0) == WRONG
    assert style(101.0, None) == ""
    assert heat_style(None) == UNKNOWN != WRONG


def test_no_color_leaves_no_colour_and_nothing_dim() -> None:
    code = "from rocdoctor.tui import style as s; print({**s.SEVERITY_STYLE, **s.STATE_STYLE})"
    run = subprocess.run(
        [sys.executable, "-c", code], env={"NO_COLOR": "1"}, capture_output=True, text=True, check=True, timeout=60
    )
    assert not re.search("red|yellow|green|cyan|dim", run.stdout.replace("'not-applicable'", ""))


def test_frames_and_keys_are_no_alarm_where_there_are_16_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red and magenta are left to what is wrong; what may be at risk is yellow."""
    monkeypatch.setattr("os.isatty", lambda number: True)
    alarm = {1, 5, 9, 13}
    wrong: list[str] = []
    for theme in ("textual-dark", "textual-light"):
        app = FewColoursApp()
        app.theme = theme
        for system, expected in (("standard", False), ("truecolor", True)):
            app.console._color_system = COLOR_SYSTEMS[system]
            shown = {
                name: Color.from_rgb(*Shown.parse(value).rgb).downgrade(ColorSystem.STANDARD).number
                for name, value in app.get_css_variables().items()
                if name.startswith(("accent", "warning", "footer-key-foreground")) and value.startswith("#")
            }
            assert {"accent", "warning", "footer-key-foreground"} <= set(shown)
            red = sorted(name for name, number in shown.items() if number in alarm)
            if bool(red) is not expected:
                wrong.append(f"{theme}, {system}: {red}")
    assert wrong == []
