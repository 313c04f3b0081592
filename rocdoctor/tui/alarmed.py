"""A session that tells, on each of its screens, of a GPU that has reached a limit."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rocdoctor.model.printable import one_line
from rocdoctor.tui.config import OWN_C, config_file, own_limit
from rocdoctor.tui.session import Session

if TYPE_CHECKING:
    from rocdoctor.model.facts import Gpu
    from rocdoctor.tui.alarms import Alarms
    from rocdoctor.tui.look import Look


class AlarmedSession(Session):
    """Takes the values of each look at a live machine; a new alarm is told once, and stands on top while it lasts."""

    _alarms: Alarms | None = None
    _set: tuple[float | None] | None = None  # the limit that was set on the screens

    @property
    def alarm_c(self) -> float | None:
        """As the session has it: what was set on the screens, else what the file of the user says."""
        return self._set[0] if self._set is not None else self.config.alarm_c

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
        new = self._alarms.see(gpus, time.strftime("%H:%M:%S"), self.alarm_c)
        self.alarm = self._alarms.words
        if not new:
            return
        words = "; ".join(
            f"gpu {one.gpu}: {one.sensor} has reached {'your' if one.own else 'its'} limit of {one.limit_c:.0f} °C"
            for one in new
        )
        self.notify(f"{new[0].clock} {words}", severity="error", timeout=15, markup=False)
        if self.config.bell:
            self.bell()

    def action_ask_alarm(self) -> None:
        """Ask for the user's own limit, and say how it is kept; an empty answer leaves it as it is."""
        from rocdoctor.tui.widgets.ask import Ask

        if self.host.kind != "live":
            self.notify("a recording is a single moment: there is nothing to raise an alarm about")
            return
        note = (
            f"A number from {OWN_C[0]:.0f} to {OWN_C[1]:.0f}, for every sensor of every GPU of this machine, or off. "
            "A sensor whose card states a lower limit keeps that one."
        )
        value = "" if self.alarm_c is None else f"{self.alarm_c:g}"
        self.push_screen(Ask("alarm at, °C", value, note, "Set"), self._alarm_given)

    def _alarm_given(self, text: str | None) -> None:
        if text is None:
            return
        limit_c = None if text.lower() == "off" else own_limit(text)
        if limit_c is None and text.lower() != "off":
            words = f"'{one_line(text)[:40]}' is not a number from {OWN_C[0]:.0f} to {OWN_C[1]:.0f}, and not off"
            self.notify(words, severity="warning", markup=False)
            return
        self._set = (limit_c,)
        kept = f"to keep it: alarm = {limit_c:g} in {config_file()}" if limit_c is not None else "the card's own count"
        self.notify(f"alarm {'off' if limit_c is None else f'at {limit_c:g} °C'}; {kept}", timeout=10, markup=False)
        if self.host.kind == "live" and self.look.diagnosis is not None and self.look.phase == "done":
            self.saw_values((self.look.now or self.look.diagnosis.machine).gpus)
