"""A session that tells, on each of its screens, of a GPU that has reached a limit."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rocdoctor.tui.session import Session

if TYPE_CHECKING:
    from rocdoctor.model.facts import Gpu
    from rocdoctor.tui.alarms import Alarms
    from rocdoctor.tui.look import Look


class AlarmedSession(Session):
    """Takes the values of each look at a live machine; a new alarm is told once, and stands on top while it lasts."""

    _alarms: Alarms | None = None

    def watch_look(self, look: Look) -> None:
        """The values of another look; of other evidence, or of a machine that is asked anew, none."""
        if self.host.kind != "live":
            self._alarms, self.alarm = None, ""
        elif look.diagnosis is not None and look.phase == "done":
            self.saw_values((look.now or look.diagnosis.machine).gpus)

    def saw_values(self, gpus: Iterable[Gpu]) -> None:
        """As the session has it."""
        from rocdoctor.tui.alarms import Alarms  # read in after the first frame

        self._alarms = self._alarms or Alarms()
        new = self._alarms.see(gpus, time.strftime("%H:%M:%S"))
        self.alarm = self._alarms.words
        if not new:
            return
        words = "; ".join(f"gpu {one.gpu}: {one.sensor} has reached its limit of {one.limit_c:.0f} °C" for one in new)
        self.notify(f"{new[0].clock} {words}", severity="error", timeout=15, markup=False)
        if self.config.bell:
            self.bell()
