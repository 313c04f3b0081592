"""The registration of RHEL and SLES: without one there are no packages of the distribution."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known
from rocdoctor.model.shell_command import shell
from rocdoctor.repair.setup.plan import Layer, Step, Verify
from rocdoctor.repair.setup.registered import CLOUDS, REGISTRATION
from rocdoctor.repair.setup.situation import Situation

LAYER: Layer = "clean"


def steps(situation: Situation) -> Sequence[Step]:
    """The registration, where it is known; a name and a password are typed by a person."""
    asked, fact = install.registration(situation.distribution), situation.machine.os.registration
    if asked is None or situation.caretaker or not isinstance(fact, Known):
        return ()
    if fact.value != "none":
        title = f"Registration with {asked.vendor}"
        how = "its cloud gives the packages" if fact.value in CLOUDS else "the system is registered"
        return (Step(REGISTRATION, title, "done", f"{situation.os_words}: {how}.", (cite(fact, how),)),)
    why = f"{situation.os_words} gives its packages only to registered systems, and this one is not registered."
    return (
        Step(
            REGISTRATION,
            f"Register this system with {asked.vendor}",
            "todo",
            why,
            (cite(fact, "not registered"),),
            risk="manual",
            verify=Verify(command=shell("{words:option}", words=("sudo", *asked.tell)), shows="that it is registered"),
            notes=(f"As root: {asked.by}", *([asked.cloud_text] if asked.cloud_text else [])),
            sources=asked.sources,
            table="install",
            kind=install.weakest("install", asked.sources),
        ),
    )
