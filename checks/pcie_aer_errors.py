"""PCIe error counters of a GPU, or of a port above it, are not zero.

Why
  PCIe checks every packet. A corrected error was repeated and did no harm; PCI Express tolerates one wrong bit in
  10^12, so a handful a day is normal, but many point to a riser, a cable or bad contacts. A fatal error means that the
  link went down. A non-fatal error lost one transfer; some come from harmless probing while the machine starts.

Fix
  Check whether the counters still grow (they count since boot). If they do, reseat the card, remove risers, clean the
  contacts, and try another slot. Then update the board's firmware.

References
  https://docs.kernel.org/PCI/pcieaer-howto.html
  Linux: drivers/pci/pcie/aer.c (aer_dev_correctable, aer_dev_nonfatal, aer_dev_fatal)
"""

from __future__ import annotations

from rocdoctor.insight.links.pcie_path import SPECIFIED_ERRORS_PER_S, asleep, wired_on_purpose
from rocdoctor.insight.texts.log_events import RECENT_S, is_current, is_recent, quotes
from rocdoctor.judging.check import (
    Evidence,
    Finding,
    Fix,
    Outcome,
    check,
    cite,
    each_discrete_gpu,
    info,
    warning,
)
from rocdoctor.model.evidence import Fact, Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine, Pcie, PcieHop

_CAUSE = "pcie-link-degraded"
_HOUR_S = 3600.0
_NONFATAL_AT_START = 10  # our choice: probing of absent functions at boot leaves a few
_MANY_CORRECTED = 100  # our choice: below it nobody needs to know
_LOGGED = (
    (("pcie-aer-fatal", "pcie-dpc-containment", "pcie-recovery-failed"), "fatal"),
    (("pcie-aer-nonfatal",), "non-fatal"),
)
_FIX = Fix(
    "Watch whether the counters grow under load; reseat the card, remove risers, try another slot",
    command="grep -H TOTAL /sys/bus/pci/devices/*/aer_dev_*",
)


@check(each_discrete_gpu)
def pcie_aer_errors(machine: Machine, gpu: Gpu) -> Outcome:
    ports: list[Pcie | PcieHop] = [gpu.pcie, *gpu.pcie.hops]
    counted = [[port.aer_fatal for port in ports], [port.aer_nonfatal for port in ports]]
    corrected = [port.aer_correctable for port in ports]
    if not any(isinstance(fact, Known) for facts in (*counted, corrected) for fact in facts):
        return _from_log(machine, gpu)
    fatal, nonfatal = (_most(facts) for facts in counted)
    uptime_s = value_or(machine.kernel.uptime_s, None)
    if isinstance(fatal, Known) and fatal.value > 0:
        # A link that is cut on purpose (a sleeping or external GPU, a reset) leaves such a count as well.
        cut = wired_on_purpose(machine, gpu) is not None or asleep(gpu) is not None
        rare = uptime_s is not None and fatal.value * RECENT_S < uptime_s
        make = info if cut or rare else warning
        return make(
            f"PCIe counted {fatal.value} fatal {_errors(fatal.value)} on the link of this GPU since boot.",
            evidence=_evidence(machine, fatal),
            cause=_CAUSE if make is warning else "",
            fix=_FIX,
        )
    if isinstance(nonfatal, Known) and nonfatal.value > 0:
        return _nonfatal(machine, nonfatal, uptime_s)
    return _corrected(machine, _most(corrected), uptime_s)


def _from_log(machine: Machine, gpu: Gpu) -> Finding | None:
    """What the kernel log says of this device and its ports, where nobody read the counters."""
    log = machine.kernel.log
    if not isinstance(log, Known):
        known(gpu.pcie.aer_fatal)
        return None
    places = {value_or(gpu.bdf, None), *(hop.bdf for hop in gpu.pcie.hops)} - {None}
    for kinds, words in _LOGGED:
        events = [event for event in log.value.of(*kinds) if event.bdf in places]
        if events:
            message = f"The kernel log has {len(events)} {words} {_errors(len(events))} of the PCIe link of this GPU."
            evidence = quotes(machine, events)
            if words == "fatal" and any(is_current(event) and is_recent(event) for event in events):
                return warning(message, evidence=evidence, cause=_CAUSE, fix=_FIX)
            return info(message, evidence=evidence, fix=_FIX)
    if not log.value.complete:
        known(gpu.pcie.aer_fatal)
    return None


def _errors(count: int) -> str:
    return "error" if count == 1 else "errors"


def _most(facts: list[Fact[int]]) -> Fact[int]:
    """The highest count of the path: an error shows at one end of a link or at both."""
    found = [fact for fact in facts if isinstance(fact, Known)]
    return max(found, key=lambda fact: fact.value) if found else facts[0]


def _evidence(machine: Machine, count: Known[int]) -> list[Evidence]:
    uptime = machine.kernel.uptime_s
    shown = [cite(count, f"{count.value} since boot")]
    return [*shown, cite(uptime, f"up {uptime.value / _HOUR_S:.1f} h")] if isinstance(uptime, Known) else shown


def _nonfatal(machine: Machine, count: Known[int], uptime_s: float | None) -> Finding:
    message = f"PCIe counted {count.value} non-fatal {_errors(count.value)} on the link of this GPU since boot"
    evidence = _evidence(machine, count)
    if uptime_s and count.value > _NONFATAL_AT_START and count.value / uptime_s >= 1 / _HOUR_S:
        rate = count.value / uptime_s * _HOUR_S
        return warning(
            f"{message}, {rate:.1f} an hour: transfers over it failed.", evidence=evidence, cause=_CAUSE, fix=_FIX
        )
    return info(f"{message}; a few are harmless.", evidence=evidence, fix=_FIX)


def _corrected(machine: Machine, count: Fact[int], uptime_s: float | None) -> Finding | None:
    if not isinstance(count, Known) or count.value < _MANY_CORRECTED:
        return None
    message = f"PCIe corrected {count.value} errors on the link of this GPU since boot"
    evidence = _evidence(machine, count)
    if not uptime_s:
        return info(f"{message}; it is not known how long ago that was.", evidence=evidence, fix=_FIX)
    rate = count.value / uptime_s
    if rate > SPECIFIED_ERRORS_PER_S:
        return warning(
            f"{message}, {rate * _HOUR_S:.0f} an hour: more than PCI Express allows a link of any speed and width.",
            evidence=evidence,
            cause=_CAUSE,
            fix=_FIX,
        )
    if rate < SPECIFIED_ERRORS_PER_S / 100:
        return None
    return info(f"{message}, {rate * _HOUR_S:.0f} an hour; nothing was lost.", evidence=evidence, fix=_FIX)
