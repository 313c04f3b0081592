"""What AMD's lists say of a machine that is set up, for the steps that say it: each names its own differences."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.insight.software.combination import combination
from rocdoctor.knowledge import install
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import Unknown, value_or
from rocdoctor.repair.setup.situation import Situation


def lists_judgement(situation: Situation, torch: str = "") -> install.ListedSupport | None:
    """The judgement of the first GPU that training would use; None where the lists do not speak of this machine.

    It is that for the installed ROCm where its lists were read, else for the one that the plan installs.
    """
    if not situation.amd_able or (situation.enclosed and not situation.wsl):
        return None
    found = combination(situation.machine, situation.amd_able[0], _rocm(situation), torch)
    return None if isinstance(found, Unknown) else install.judged_support(found)


def driver_said(situation: Situation, loading: bool = False) -> str:
    """What the lists have against the driver, or (``loading``) against the kernel's own once it is loaded.

    Nothing against the kernel's own where AMD has no package, or does not list the distribution, which is said of the
    whole plan.
    """
    where = situation.distribution
    if situation.caretaker or not situation.amd_able:
        return ""
    found = combination(situation.machine, situation.amd_able[0], _rocm(situation))
    if isinstance(found, Unknown):
        return ""
    driver = "kernel" if loading else found.driver
    answer = install.judged_support(replace(found, driver=driver))
    if driver == "kernel" and (where is None or where.dkms == "none" or answer.of("distribution")):
        return ""
    return install.difference_words(answer, "driver")


def listed_kernel_step(situation: Situation) -> tuple[install.ListedSystem, tuple[install.InstallStep, ...]] | None:
    """The newer kernel of this release with which AMD lists the card, where another one runs; None for none."""
    if not situation.amd_able or situation.caretaker or situation.distribution is None:
        return None
    found = combination(situation.machine, situation.amd_able[0], _rocm(situation))
    system = None if isinstance(found, Unknown) else install.listed_kernel(found)
    if system is None or numbers(situation.kernel)[:2] >= numbers(system.kernel)[:2]:
        return None
    steps = install.kernel_step(situation.distribution.key, system.kind, system.kernel)
    return (system, steps) if steps else None


def firmware_said(situation: Situation) -> tuple[str, ...]:
    """The firmware that AMD's list names for the card: that of the board, which no package of the system brings."""
    answer = lists_judgement(situation)
    if answer is None or not answer.firmware or situation.caretaker:
        return ()
    return (
        f"AMD's list for ROCm {answer.rocm} names this board firmware for the card: {' or '.join(answer.firmware)}. "
        "No package in these steps contains it, and the firmware now on the board was not checked.",
    )


def support_said(situation: Situation, *what: install.What) -> str:
    """What the lists have against these parts of the machine, in words; "" where it is nothing or not known."""
    answer = lists_judgement(situation)
    return "" if answer is None else install.difference_words(answer, *what)


def _rocm(situation: Situation) -> str:
    for one in situation.machine.rocm:
        if install.release_lists(value_or(one.version, "")) is not None:
            return value_or(one.version, "")
    route = situation.rocm
    if isinstance(route, install.Route) and route.rocm is not None and install.release_lists(route.rocm) is not None:
        return route.rocm
    return install.newest_lists().rocm
