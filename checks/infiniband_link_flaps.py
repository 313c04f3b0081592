"""The link of an InfiniBand or RDMA port went down and came back while the machine was running (it flaps).

Why
  A transfer that is under way when the link drops is lost after its retries: collectives between nodes end with a
  transport error, or hang until their timeout. Links go down and up while drivers load and when a switch restarts;
  drops that repeat afterwards point to a cable, a transceiver, a dirty connector or the port of the switch.

Fix
  Look at the counters of both ends, then clean or replace cable and transceiver, and try another port of the switch.

References
  drivers/infiniband/core/cache.c (Port: N Link ACTIVE, DOWN)
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import age, is_late, is_recent, quotes, times
from rocdoctor.judging.check import Finding, Fix, Outcome, check, info, unknown, warning, whole_machine
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import KernelLog, LogEvent, Machine

_CAUSE = "network-interface-wrong"
_FIX = Fix(
    "Clean or replace cable and transceiver, then compare the error counters of both ends",
    command="perfquery -x; ibqueryerrors",
    safety="manual",
)


@check(whole_machine)
def infiniband_link_flaps(machine: Machine) -> Outcome:
    log = known(machine.kernel.log)
    drops = _drops(log)
    if not drops and not log.complete:
        raise unknown("the kernel log here does not reach back to the boot", "undecided")
    found: list[Finding] = []
    for port, events in sorted(drops.items()):
        words = f"The link of the RDMA port {port} went down {times(len(events))} while running"
        when = f", last {age(machine, events)}"
        # One drop is also what a restart of the switch looks like.
        often = sum(is_recent(event) for event in events) > 1
        make = warning if often else info
        found.append(
            make(
                f"{words}{when}.",
                evidence=quotes(machine, events),
                fix=_FIX,
                cause=_CAUSE if often else "",
                confidence="possible" if often else "certain",
            )
        )
    return found


def _drops(log: KernelLog) -> dict[str, tuple[LogEvent, ...]]:
    """Per port the drops of a link that was up before, after the first minutes and outside of suspend."""
    up: dict[str, bool] = {}
    found: dict[str, tuple[LogEvent, ...]] = {}
    for event in log.of("infiniband-port-state"):
        port = f"{event.values.get('device')}/{event.values.get('port')}"
        state = event.values.get("state")
        if state == "DOWN" and up.get(port) and is_late(event):
            found[port] = (*found.get(port, ()), event)
        up[port] = state == "ACTIVE"
    return found
