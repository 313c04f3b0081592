"""What screens know of the app: the host that is open, what is known of it, and how to open another one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.reactive import reactive

from rocdoctor.host.base import Answer, Host
from rocdoctor.model.printable import clean
from rocdoctor.tui.config import Config
from rocdoctor.tui.look import Look
from rocdoctor.tui.typed_ahead import TypedAhead

if TYPE_CHECKING:
    from rocdoctor.model.facts import Gpu
    from rocdoctor.model.subject import Subject
    from rocdoctor.tui.changes import SeenChange


class Session(TypedAhead):
    """Screens over one host; ``look`` is what is known of it at the moment."""

    look: reactive[Look] = reactive(Look(), init=False, always_update=True)
    host: Host
    config: Config
    """What the user likes."""
    changed: str
    """What has happened to a GPU of this machine since it was asked; "" for nothing."""
    wanted: tuple[str, str, str] | Subject | None
    """The row that the screen of findings is to show when it is seen next."""
    wanted_answer: str
    """The question whose answer the screen of the bundle is to show when it is seen next; "" for none."""
    changes: tuple[SeenChange, ...]
    """What has changed on this machine since it was looked at first, the newest look first."""
    since: float
    """When that first look was done, in seconds since 1970."""
    unseen: int
    """Findings that appeared since the screen of findings was seen."""
    alarm: str = ""
    """What has reached its limit on this machine, and since when; "" for nothing."""
    drawn: bool
    """The first frame is on the terminal, in the colours of the theme."""

    def open(self, host: Host) -> None:
        """Look at other evidence; ``action_earlier`` returns to what was open before."""
        raise NotImplementedError

    def with_smoke(self, answer: Answer) -> None:
        """Judge the machine again together with the results of smoke tests."""
        raise NotImplementedError

    def saw_values(self, gpus: Iterable[Gpu]) -> None:
        """Take the values of one look at all GPUs of this machine: some may have reached a limit."""
        raise NotImplementedError

    @property
    def alarm_c(self) -> float | None:
        """The user's own limit of temperatures; None for those of the cards alone."""
        raise NotImplementedError

    def action_ask_alarm(self) -> None:
        """Ask for the user's own limit of temperatures."""
        raise NotImplementedError

    def again_host(self) -> Host | None:
        """A host that asks this live machine anew, beside the one that is open; None for other evidence."""
        raise NotImplementedError

    async def action_area(self, module: str) -> None:
        """Go to a screen."""
        raise NotImplementedError

    def copy(self, text: str, what: str) -> None:
        """To the clipboard; say what came of it, ``what`` being its name."""
        raise NotImplementedError

    async def show_finding(self, wanted: tuple[str, str, str] | Subject) -> None:
        """Go to a finding, by the key of its row; or to all findings of a part of the machine."""
        raise NotImplementedError

    async def show_answer(self, question: str) -> None:
        """Go to the whole answer to a question, as a bundle would hold it."""
        raise NotImplementedError

    def notify(self, message: str, **named: Any) -> None:
        """As Textual has it; nothing of the message drives the terminal."""
        super().notify(clean(message), **named)

    def action_earlier(self) -> None:
        """Return to the evidence that was open before."""
        raise NotImplementedError

    def action_reload(self) -> None:
        """Ask everything again."""
        raise NotImplementedError

    def action_help(self) -> None:
        """The keys and the screens."""
        raise NotImplementedError

    def action_text_report(self) -> None:
        """The report as plain text, for screen readers, copying and small terminals."""
        raise NotImplementedError


def same_evidence(before: Host | None, host: Host) -> bool:
    """Whether a host asks what was open before: this machine, or the same file again."""
    return host is before or (
        before is not None and host.kind != "text" and (before.kind, before.origin) == (host.kind, host.origin)
    )


def session_of(app: App[object]) -> Session:
    """The app, by its own type."""
    assert isinstance(app, Session)
    return app
