"""Work beside the screen, in daemon threads: no question may keep the screen, or the process, from going on.

Textual's own thread workers stand in a pool whose end waits for every thread, also for one that hangs in the kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from textual.app import App
from textual.message import Message

T = TypeVar("T")


class Call(Message):
    """Something that a thread wants done on the screen's side."""

    def __init__(self, function: Callable[[], object]) -> None:
        super().__init__()
        self.function = function


def working(app: App[Any]) -> bool:
    """Whether some work of an app has not ended."""
    return any(one.running and one.app is app for one in tuple(_all))


class Background(Generic[T]):
    """One piece of work. ``done`` and ``failed`` are called on the screen's side, never after ``cancel``.

    The work gets this object: it looks at ``cancelled`` now and then, and tells its progress with ``tell``.
    """

    def __init__(
        self,
        app: App[Any],
        work: Callable[[Background[T]], T],
        done: Callable[[T], object] | None = None,
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        self.app = app
        self.cancelled = False
        self.running = True
        self._work, self._done, self._failed = work, done, failed
        _all.add(self)
        threading.Thread(target=self._run, daemon=True, name="rocdoctor-work").start()

    def cancel(self) -> None:
        """Nothing of it is heard of any more; the thread ends when it looks."""
        self.cancelled = True
        self.running = False

    def tell(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function on the screen's side, unless the work was cancelled by then, or the screens are closing."""

        def call() -> None:
            if not self.cancelled and self.app.is_running:  # of a screen that closes some parts are gone
                function(*arguments)

        self.app.post_message(Call(call))

    def _run(self) -> None:
        try:
            result = self._work(self)
        except Exception as error:
            self.tell(self._ended, self._failed or self._raise, error)
        else:
            self.tell(self._ended, self._done, result)

    def _ended(self, then: Callable[[Any], object] | None, what: Any) -> None:
        self.running = False
        if then is not None:
            then(what)

    @staticmethod
    def _raise(error: Exception) -> None:
        raise error


_all: WeakSet[Background[Any]] = WeakSet()
