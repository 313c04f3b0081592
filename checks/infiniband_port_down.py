"""An InfiniBand port is not active.

Why
  Collectives between nodes use every port that is active. A port in the state INIT has a cable and a link, but no
  subnet manager has configured it. A port that is DOWN is often simply not cabled, so this is a note, but a warning if
  the kernel log shows that the port was lost while the machine was running.

Fix
  INIT: start the subnet manager (opensm, or the switch's). DOWN: check cable, transceiver and switch port.

References
  https://docs.kernel.org/admin-guide/abi-stable.html (/sys/class/infiniband/.../state, link_downed, symbol_error)
"""

from __future__ import annotations

from rocdoctor.insight.texts.log_events import other_events, quotes
from rocdoctor.judging.check import Fix, NotApplicable, Outcome, Selected, Subjects, check, cite, info, quote, warning
from rocdoctor.model.evidence import Known, Source, known, value_or
from rocdoctor.model.facts import Machine, Nic
from rocdoctor.model.subject import Subject

_CAUSE = "network-interface-wrong"
_ACTIVE = ("active", "up", "linkup")
_COUNTERS = ("link_downed", "symbol_error", "link_error_recovery")
# A counter runs since the driver was loaded; a few come from plugging in.
_MANY = 10
# These counters of the port are 8 bits wide and stay at their end (InfiniBand Architecture, PortCounters).
_NARROW = ("link_downed", "link_error_recovery")


def _each_infiniband_port(machine: Machine) -> Subjects[Nic]:
    """Every InfiniBand port of the machine (RoCE ports follow the state of their Ethernet interface)."""
    found = [Selected(Subject("nic", name=nic.name), nic) for nic in machine.network if nic.kind == "infiniband"]
    return found or NotApplicable("no InfiniBand port in this evidence")


@check(_each_infiniband_port)
def infiniband_port_down(machine: Machine, nic: Nic) -> Outcome:
    state = known(nic.state)
    word = state.strip().lower()
    if word in _ACTIVE:
        counted = {name: nic.counters[name] for name in _COUNTERS if nic.counters.get(name, 0) >= _MANY}
        if not counted:
            return None
        words = ", ".join(f"{name} {_count(name, count)}" for name, count in counted.items())
        return info(
            f"This InfiniBand port is active, but its link was lost or disturbed: {words}.",
            evidence=[quote(_counter_source(nic, name), f"{name} {count}") for name, count in counted.items()],
            fix=Fix(
                "If the counters grow, reseat or replace the cable and look at the port of the switch",
                command="perfquery -x; ibqueryerrors",
                safety="manual",
            ),
        )
    lost = [
        event
        for event in other_events(machine, "infiniband-port-state")
        if event.values.get("device") in (nic.name, nic.name.split("/")[0]) and event.values.get("state") == "DOWN"
    ]
    others = any(
        value_or(other.state, "").strip().lower() in _ACTIVE
        for other in machine.network
        if other.kind == "infiniband" and other.name != nic.name
    )
    if word in ("init", "initializing", "armed"):
        make = warning if others else info
        return make(
            f"This InfiniBand port has a link but is not active (state {state}): no subnet manager has configured it.",
            evidence=[cite(nic.state)],
            fix=Fix("Start the subnet manager of the fabric (opensm, or that of the switch)", safety="manual"),
            cause="network-interface-wrong" if others else "",
            confidence="likely",
        )
    fix = Fix(
        "Check cable, transceiver and switch port if this port is meant to be used", command="ibstat", safety="safe"
    )
    if lost:
        return warning(
            f"This InfiniBand port is not active (state {state}) and went down while the machine was running.",
            evidence=[cite(nic.state), *quotes(machine, lost, 2)],
            fix=fix,
            confidence="likely",
            cause=_CAUSE,
        )
    if not others:
        return None
    return info(
        f"This InfiniBand port is not active (state {state}), while others of this machine are.",
        evidence=[cite(nic.state)],
        fix=fix,
    )


def _counter_source(nic: Nic, name: str) -> Source:
    """The counter's own file, which is in a folder beside that of the port's state."""
    source = nic.state.source if isinstance(nic.state, Known) else Source("")
    folder, state, rest = source.question.rpartition("/state")
    return Source(f"{folder}/counters/{name}", 1) if state and not rest else source


def _count(name: str, count: int) -> str:
    return f"{count} times or more" if name in _NARROW and count >= 255 else str(count)
