"""What a user likes of the screens: ``rocdoctor/config.toml`` in the folder of configuration. Without Textual.

A value that is wrong is named with its line, and the others count.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rocdoctor.host.live.accounts import expanded
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import one_line
from rocdoctor.service.errors import suggestion
from rocdoctor.tui.areas import AREAS, KEYS

if TYPE_CHECKING:
    from rocdoctor.lint.config.trees import Tree

# Seconds between looks of Thermals; 0 is off.
RATES_S = (0.0, 10.0, 5.0, 2.0, 1.0, 0.5)
DEFAULT_RATE_S = 2.0
# What a user may set as a limit, in °C: below, a sound GPU at rest alarms, above, no card lets it come so far. Our own.
OWN_C = (30.0, 120.0)
ANSI = "ansi"
"""The theme that has the terminal's own colours, whatever this version of Textual calls it."""
# Names of what a key may do, with the actions of the app.
ACTIONS: Mapping[str, str] = {
    **{area.module: f"area('{area.module}')" for area in AREAS},
    "help": "help",
    "text": "text_report",
    "again": "reload",
    "back": "earlier",
    "commands": "command_palette",
    "quit": "quit",
}
_KNOWN = ("theme", "rate", "start", "bell", "alarm", "keys")
_KEY = regex(r"[A-Za-z]|f(?:[1-9]|1[0-2])|(?:ctrl|alt)\+[a-z0-9]")
# Those of everywhere; and what a terminal sends for Tab, Enter, Backspace and signals.
_TAKEN = (
    *KEYS[: len(AREAS)],
    *("t", "r", "b", "q", "f1", "ctrl+p", "ctrl+l", "ctrl+z", "ctrl+c", "ctrl+q"),
    *("ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+s"),
)


@dataclass(frozen=True, slots=True)
class Config:
    """What the file says; ``keys`` are further keys with the names of what they do, ``problems`` is what was wrong."""

    theme: str = ""
    theme_place: str = ""  # where it was said
    rate_s: float = DEFAULT_RATE_S
    start: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    alarm_c: float | None = None  # the user's limit of temperatures
    bell: bool = False  # of the terminal, where a value reaches its limit


def config_file() -> Path:
    """Where it lies."""
    base = os.environ.get("XDG_CONFIG_HOME") or expanded("~/.config")
    return Path(base) / "rocdoctor" / "config.toml"


def user_config() -> Config:
    """That of the user. A home folder may lie on a server that is gone."""
    from rocdoctor.host.live.patience import RUN
    from rocdoctor.host.live.trust import read_settings

    path = config_file()

    def read() -> Config:
        try:
            return read_config(read_settings(path).decode("utf-8"), str(path))
        except FileNotFoundError:
            return Config()
        except UnicodeDecodeError:
            return Config(problems=(f"{path} is not UTF-8, so it was not read",))
        except OSError as error:
            return Config(problems=(f"{path} was not read: {error.strerror}",))

    found = RUN.look(str(path), read)
    return found if found is not None else Config(problems=(f"{path} gave no answer, so it was not read",))


def theme_names(available: Sequence[str]) -> list[str]:
    """What may be said of the themes of this Textual."""
    return [ANSI, *(one for one in available if one != ANSI)]


def light_background(told: str) -> bool:
    """Whether the variable COLORFGBG says that the terminal is white, as rxvt and Konsole set it (``0;15``).

    What it means: https://unix.stackexchange.com/questions/245378, read 2026-11-28.
    """
    return told.rpartition(";")[2] in ("7", "15")


def theme_named(name: str, available: Sequence[str]) -> str:
    """The theme of Textual that a name means; "" for none."""
    terminals = [one for one in ("ansi-dark", "textual-ansi") if one in available]
    return name if name in available else terminals[0] if name == ANSI and terminals else ""


def read_config(text: str, name: str) -> Config:
    """What a text says; ``name`` is that of its file, for what is said of it."""
    from rocdoctor.lint.config.toml_text import toml_problem, toml_tree

    if broken := toml_problem(text):
        return Config(problems=(f"{name} is not TOML, so it was not read: {one_line(broken)}",))
    tree = toml_tree(text)
    problems = [
        f"{name}:{value.line}: no '{one_line(key)}' is known here{suggestion(key, _KNOWN)}"
        for key, value in tree.mapping.items()
        if key not in _KNOWN
    ]

    def one_of(key: str, known: Sequence[str]) -> str:
        value = tree.mapping.get(key)
        if value is None:
            return ""
        if value.text in known:
            return value.text or ""
        problems.append(f"{name}:{value.line}: {key} {_shown(value)} is not one of {', '.join(known)}")
        return ""

    theme = tree.get("theme")
    if "theme" in tree.mapping and not theme.text:
        problems.append(f"{name}:{theme.line}: theme {_shown(theme)} is not the name of a theme")
    rate = tree.mapping.get("rate")
    rate_s = _number(rate.text) if rate is not None else DEFAULT_RATE_S
    if rate is not None and rate_s not in RATES_S:
        rates = ", ".join(f"{one:g}" for one in RATES_S)
        problems.append(f"{name}:{rate.line}: rate {_shown(rate)} is not one of {rates} (seconds)")
        rate_s = None
    alarm = tree.mapping.get("alarm")
    alarm_c = own_limit(alarm.text) if alarm is not None else None
    if alarm is not None and alarm_c is None:
        bounds = f"{OWN_C[0]:.0f} to {OWN_C[1]:.0f}"
        problems.append(f"{name}:{alarm.line}: alarm {_shown(alarm)} is not a number from {bounds} (°C)")
    bell = one_of("bell", ("true", "false"))
    start = one_of("start", [area.module for area in AREAS])
    keys: dict[str, str] = {}
    named = tree.mapping.get("keys")
    if named is not None and (named.text is not None or named.items):
        problems.append(f"{name}:{named.line}: keys is not a table")
    for action, value in named.mapping.items() if named is not None else ():
        if action not in ACTIONS:
            problems.append(f"{name}:{value.line}: no key here can do '{one_line(action)}'")
            continue
        for one in value.items or [value]:
            if wrong := _wrong_key(one.text, keys):
                problems.append(f"{name}:{one.line}: key {_shown(one)} {wrong}")
            elif one.text:
                keys[one.text] = action
    return Config(
        theme.text or "",
        f"{name}:{theme.line}: ",
        DEFAULT_RATE_S if rate_s is None else rate_s,
        start,
        keys,
        tuple(problems),
        alarm_c,
        bell == "true",
    )


def _wrong_key(key: str | None, had: Mapping[str, str]) -> str:
    if key is None or not _KEY.fullmatch(key):
        return "is not a letter, f1 to f12, or ctrl or alt with a letter or digit (as in ctrl+r)"
    return "is taken" if key in _TAKEN or key in had else ""


def own_limit(text: str | None) -> float | None:
    """A limit of temperatures, °C, as somebody writes it; None for what is none."""
    value = _number(text)
    return value if value is not None and OWN_C[0] <= value <= OWN_C[1] else None


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def _shown(value: Tree) -> str:
    return f"'{one_line(value.text)[:60]}'" if value.text is not None else "(a table or a list)"
