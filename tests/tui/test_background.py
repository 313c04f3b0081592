"""What a thread has found is heard by the screens, but not of work that was cancelled, nor while they close."""

from __future__ import annotations

from typing import Any, cast

from rocdoctor.tui.background import Background, Call
from tests.waiting import until


class _App:
    """Keeps what is posted to it."""

    def __init__(self) -> None:
        self.posted: list[Call] = []
        self.is_running = True

    def post_message(self, message: Call) -> None:
        self.posted.append(message)


def _heard(change: Any) -> list[str]:
    """What is heard of some work where the app changes between its end and the message of it."""
    app, heard = _App(), list[str]()
    work = Background[str](cast(Any, app), lambda task: "found", heard.append)
    assert until(lambda: bool(app.posted), 60)
    change(app, work)
    app.posted[0].function()
    return heard


def test_what_was_found_is_heard_unless_the_work_was_cancelled_or_the_screens_close() -> None:
    assert _heard(lambda app, work: None) == ["found"]
    assert _heard(lambda app, work: work.cancel()) == []
    assert _heard(lambda app, work: setattr(app, "is_running", False)) == []
