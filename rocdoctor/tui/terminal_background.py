"""A terminal with a light background gets light screens: it is asked for its colour, and nothing waits for the answer.

``ESC ] 11 ; ? ST`` asks, ``ESC ] 11 ; rgb:RRRR/GGGG/BBBB ST`` (or BEL) answers: https://wire.phall.io/terminal-osc/11,
which cites xterm's ctlseqs, and https://www.terminfo.dev/extensions/osc-11-bg-color-query, both read 2026-11-29.
Textual (8.2.8) knows no such answer and would take it for keys: it is taken out of what is read, whenever it comes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from rocdoctor.model.lazy_re import regex
from rocdoctor.tui.background import Call
from rocdoctor.tui.config import light_background

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.message import Message

    from rocdoctor.tui.session import Session

LIGHT = "textual-light"
QUERY = "\x1b]11;?\x1b\\"
_COLOUR = "([0-9A-Fa-f]{1,4})"
# Its ESC may have been read before, and was a key then.
_ANSWER = regex(rf"\x1b?\]11;rgba?:{_COLOUR}/{_COLOUR}/{_COLOUR}(?:/[0-9A-Fa-f]{{1,4}})?(?:\x1b\\|\x07)")
_BEGUN = regex(r"\x1b\](?:1(?:1(?:;[rgba:0-9A-Fa-f/]{0,25}\x1b?)?)?)?\Z")
# Terminals that answer nothing, or show what they do not know.
_UNFIT = ("dumb", "linux", "screen", "eterm")


def light(red: str, green: str, blue: str) -> bool:
    """Whether a colour, each part in one to four hexadecimal digits, is nearer to white (weights of Rec. 709)."""
    parts: list[float] = [int(one, 16) / int("f" * len(one), 16) for one in (red, green, blue)]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True)) > 0.5


class Answers:
    """Takes the terminal's answers out of what is read of it; ``tell`` hears whether the background is light."""

    def __init__(self, tell: Callable[[bool], object]) -> None:
        self._tell = tell
        self._begun = ""  # of an answer whose rest is still to come

    def without(self, read: str) -> str:
        """What somebody typed."""
        read, self._begun = self._begun + read, ""
        for found in _ANSWER.finditer(read):
            self._tell(light(*found.groups()))
        typed = _ANSWER.sub("", read)
        begun = _BEGUN.search(typed)
        if begun is not None:
            typed, self._begun = typed[: begun.start()], begun[0]
        return typed


def may_be_asked(term: str, in_tmux: bool) -> bool:
    """Whether a terminal of this name answers, or at least keeps still; tmux calls itself screen too."""
    return bool(term) and (in_tmux or not term.lower().startswith(_UNFIT))


def follow(app: Session, told: Callable[[bool], object]) -> None:
    """Tell whether the background is light: at once where COLORFGBG says it, else when the terminal does."""
    said = os.environ.get("COLORFGBG", "")
    if os.environ.get("NO_COLOR"):
        return
    if said:
        told(light_background(said))
    elif may_be_asked(os.environ.get("TERM", ""), bool(os.environ.get("TMUX"))):
        app.driver_class = asking(app.driver_class, lambda light: app.post_message(Call(partial(told, light))))


def asking(driver: type[Driver], tell: Callable[[bool], object]) -> type[Driver]:
    """The driver that asks as well; the same one where this Textual reads the terminal in another way."""
    if driver.__module__ != "textual.drivers.linux_driver":
        return driver
    from textual.drivers import linux_driver

    parser = getattr(linux_driver, "XTermParser", None)
    if not isinstance(parser, type) or driver is not linux_driver.LinuxDriver:
        return driver

    class Listening(parser):  # type: ignore[misc, valid-type]
        """Reads keys, and no answers."""

        answers = Answers(tell)

        def feed(self, data: str) -> Iterable[Message]:
            typed = self.answers.without(data)
            return super().feed(typed) if typed or not data else ()  # nothing would mean the end

    class Asking(linux_driver.LinuxDriver):
        """Asks once, when the screens begin."""

        asked = False

        def run_input_thread(self) -> None:
            setattr(linux_driver, "XTermParser", Listening)  # noqa: B010  (it is none of what Textual offers)
            super().run_input_thread()

        def start_application_mode(self) -> None:
            super().start_application_mode()  # type: ignore[no-untyped-call]
            if not self.asked and self.input_tty:
                self.asked = True
                self.write(QUERY)
                self.flush()

    return Asking
