"""The verification of findings on their screen: asked once or twice, running, done. One runs at a time."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text
from textual.timer import Timer

from rocdoctor.host.base import Kind
from rocdoctor.model.finding import Verdict
from rocdoctor.model.printable import clean
from rocdoctor.tui.background import Background
from rocdoctor.tui.draw.verification import asking, result, running
from rocdoctor.tui.findings.findings_list import FindingsRow
from rocdoctor.tui.page import Page
from rocdoctor.tui.verify import VerifyPlan, VerifyProgress, VerifyResult, plan_for, verify

_TICK_S = 0.5


class Verifying:
    """What was asked and what came of it, by row."""

    def __init__(self, page: Page, copy: Callable[[str, str], None], draw: Callable[[], None]) -> None:
        """``copy`` takes a command to the clipboard and what is said of it; ``draw`` shows where things stand."""
        self.page = page
        self._copy = copy
        self._draw = draw
        self._asked: dict[tuple[str, str, str], VerifyPlan] = {}
        self._results: dict[tuple[str, str, str], VerifyResult] = {}
        self._row: FindingsRow | None = None
        self._plan: VerifyPlan | None = None
        self._progress = VerifyProgress()
        self._task: Background[VerifyResult] | None = None
        self._timer: Timer | None = None

    @property
    def running(self) -> bool:
        """Whether one runs."""
        return self._task is not None and self._task.running

    def text(self, row: FindingsRow) -> Text | None:
        """What to show of a row."""
        if self.running and self._plan is not None and self._row is not None and self._row.key == row.key:
            return running(self._plan, self._progress)
        if row.key in self._results:
            return result(self._results[row.key])
        return asking(self._asked[row.key]) if row.key in self._asked else None

    def press(self, row: FindingsRow, kind: Kind, before: tuple[Verdict, ...]) -> None:
        """The key was pressed on a row."""
        if self.running:
            self.page.notify("a verification is running; Escape cancels it")
            return
        if row.state in ("pass", "not-applicable") and kind != "live":
            self.page.notify("there is nothing to verify here")
            return
        plan = plan_for(row, kind)
        self._results.pop(row.key, None)
        if plan.asks_first and row.key not in self._asked:
            self._asked[row.key] = plan
            return
        if plan.way in ("elsewhere", "shell"):
            self._copy(clean(plan.command), clean(plan.command))
        if plan.way == "elsewhere":
            return
        self._asked.pop(row.key, None)
        self._start(row, plan, before)

    def _start(self, row: FindingsRow, plan: VerifyPlan, before: tuple[Verdict, ...]) -> None:
        progress = VerifyProgress()
        self._row, self._plan, self._progress = row, plan, progress
        fresh = self.page.rocdoctor.again_host

        def done(found: VerifyResult) -> None:
            self._results[row.key] = found
            self._ended()

        def failed(error: Exception) -> None:
            self._results[row.key] = VerifyResult(plan, problem=f"{type(error).__name__}: {error}")
            self._ended()

        self._task = Background(self.page.app, lambda task: verify(plan, before, fresh, progress), done, failed)
        self._timer = self.page.set_interval(_TICK_S, self._draw)

    def _ended(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._draw()

    def cancel(self) -> bool:
        """End the one that runs; whether there was one."""
        if not self.running or self._task is None:
            return False
        self._task.cancel()
        self._progress.cancel()
        self._ended()
        return True

    def put_away(self, row: FindingsRow | None) -> bool:
        """Close what is shown of a row; whether there was something."""
        if row is None:
            return False
        asked, found = self._asked.pop(row.key, None), self._results.pop(row.key, None)
        return asked is not None or found is not None

    def forget(self) -> None:
        """Another machine, or another look at it."""
        self.cancel()
        self._asked.clear()
        self._results.clear()
