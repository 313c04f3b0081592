"""A network link went down and up again while the machine was running (it flaps).

Why
  When the link of a fast card (InfiniBand, RoCE, fast Ethernet) drops, collectives between nodes hang until their
  timeout or end with a transport error. Repeated drops mean a cable, a transceiver, a dirty connector, or the
  switch port. Links that change in the first minutes after boot are only drivers starting.

Fix
  Clean or replace cable and transceiver, then look at the counters of both ends.

References
  https://docs.kernel.org/networking/statistics.html
  drivers/net/ethernet/mellanox/mlx5/core/en_main.c (Link up, Link down)
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import age, is_late, is_recent, quotes, times
from rocdoctor.judging.check import Finding, Fix, Outcome, check, info, quote, unknown, warning, whole_machine
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import KernelLog, LogEvent, Machine

_CAUSE = "network-interface-wrong"
_FAST_GBIT_S = 25.0
_OFTEN_ON_SLOW = 3
_FIX = Fix(
    "Clean or replace cable and transceiver, then compare the error counters of both ends",
    command="ethtool -S INTERFACE; ibqueryerrors",
    safety="manual",
)


@check(whole_machine)
def network_link_flaps(machine: Machine) -> Outcome:
    log = known(machine.kernel.log)
    if not log.link_flaps and not log.complete:
        raise unknown("the kernel log here does not reach back to the boot", "undecided")
    found: list[Finding] = []
    for name, count in sorted(log.link_flaps.items()):
        drops = _late_drops(log, name)
        if drops is not None:
            count = min(count, len(drops))
        if count > 0 and (finding := _judge(machine, log, name, count, drops or ())) is not None:
            found.append(finding)
    return found


def _late_drops(log: KernelLog, name: str) -> tuple[LogEvent, ...] | None:
    """The drops after the first minutes and outside of suspend; None where the log gives no single events."""
    events = [event for event in log.of("network-link-down") if event.values.get("interface") == name]
    if not events:
        return None
    return tuple(event for event in events if is_late(event))


def _judge(machine: Machine, log: KernelLog, name: str, count: int, drops: tuple[LogEvent, ...]) -> Finding | None:
    words = f"The link of the network interface {name} went down {times(count)} while running (link flap)"
    when = f", last {age(machine, drops)}" if drops else ""
    evidence = quotes(machine, drops) if drops else (quote(log.source, f"{name}: {count}"),)
    # One drop is also what a restart of the switch or of the driver looks like.
    if _is_fast(machine, name) and (not drops or sum(is_recent(event) for event in drops) > 1):
        return warning(f"{words}{when}.", evidence=evidence, fix=_FIX, confidence="possible", cause=_CAUSE)
    if count >= _OFTEN_ON_SLOW or _is_fast(machine, name):
        return info(f"{words}{when}.", evidence=evidence, fix=_FIX)
    return None


def _is_fast(machine: Machine, name: str) -> bool:
    if name.startswith("ib"):
        return True
    for nic in machine.network:
        if name == nic.name or name in nic.interfaces:
            rate = value_or(nic.speed_gbit_s, 0.0)
            return nic.kind in ("infiniband", "roce") or rate >= _FAST_GBIT_S
    return False
