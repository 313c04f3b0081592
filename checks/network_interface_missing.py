"""A variable names a network interface that the job cannot use.

Why
  NCCL_SOCKET_IFNAME (RCCL reads it too) and GLOO_SOCKET_IFNAME choose the interface for start-up and sockets. One
  that does not exist ends the job at its start ("no socket interface found", "Unable to find address for: eth0");
  loopback works on one machine only, and with several machines the start hangs or is refused. NCCL matches prefixes;
  `=` asks for the exact name, `^` excludes. A list of exclusions replaces the default one (docker and lo), so
  `^docker0` alone lets NCCL choose lo.

Fix
  Name the interface of the job's network (`ip -br addr`), use `^docker,lo`, or leave the variable unset on one
  machine.

References
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
  https://docs.pytorch.org/docs/stable/distributed.html
  https://github.com/horovod/horovod/issues/666
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import several_nodes
from rocdoctor.insight.gpus.visibility import where_set
from rocdoctor.insight.links.socket_interfaces import chosen, wanted
from rocdoctor.insight.software.env_values import is_plain
from rocdoctor.judging.check import (
    Confidence,
    Evidence,
    Finding,
    Fix,
    Outcome,
    Severity,
    check,
    cite,
    error,
    finding,
    quote,
    unknown,
    warning,
    whole_machine,
)
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Machine, Variable
from rocdoctor.model.shell_command import ShellCommand, shell

_NAMES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")


@check(whole_machine, cause="network-interface-wrong")
def network_interface_missing(machine: Machine) -> Outcome:
    variables = [machine.environment.variables[name] for name in _NAMES if name in machine.environment.variables]
    plain = [variable for variable in variables if is_plain(variable.value)]
    if not plain:
        if not variables and not machine.environment.complete:
            raise unknown("whether an interface is chosen is not in this evidence")
        return None
    found = [one for variable in plain if (one := _loopback(machine, variable)) is not None]
    if found:
        return found
    present = known(machine.interfaces)
    for variable in plain:
        want = wanted(variable.name, variable.value)
        names = chosen(want, present)
        if not names:
            what = "leaves no interface" if want.excluding else f"names {', '.join(want.names)}"
            why = "" if want.excluding else ", which this machine does not have"
            found.append(
                error(
                    f"{variable.name} {what}{why} (it has {', '.join(sorted(present)[:8])}): the "
                    "job ends as soon as it starts.",
                    evidence=(_evidence(variable), cite(machine.interfaces, ", ".join(sorted(present)[:20]))),
                    fix=_fix(variable),
                )
            )
        elif not want.excluding and all(present[name] == "down" for name in names):
            found.append(
                warning(
                    f"{variable.name} names {', '.join(names)}, which is down.",
                    evidence=(_evidence(variable), cite(machine.interfaces, f"{names[0]} is down")),
                    fix=_fix(variable),
                )
            )
    return found


def _loopback(machine: Machine, variable: Variable) -> Finding | None:
    """Loopback, named or left in by a list of exclusions; nothing on one machine."""
    several = several_nodes(machine)
    want = wanted(variable.name, variable.value)
    if several is False or not (want.takes("lo") if want.excluding else want.names == ("lo",)):
        return None
    # A job's own settings in an excerpt are meant for a job; a shell's may serve one machine.
    severity: Severity = "warning" if several or not machine.environment.complete else "info"
    confidence: Confidence = "certain" if several else "possible"
    if want.excluding:
        message = (
            f"{variable.name}={variable.value} does not exclude lo, so the loopback interface can be chosen, which "
            "other "
            "machines cannot reach."
        )
        better = shell(
            "{name:name}={front}{interfaces:interfaces}",
            name=variable.name,
            front=ShellCommand("^=" if want.exact else "^"),
            interfaces=",".join([*want.names, "lo"]),
        )
        return finding(
            severity, message, evidence=(_evidence(variable),), fix=_fix(variable, better), confidence=confidence
        )
    message = f"{variable.name} is lo, the loopback interface, which other machines cannot reach."
    return finding(severity, message, evidence=(_evidence(variable),), fix=_fix(variable), confidence=confidence)


def _evidence(variable: Variable) -> Evidence:
    return quote(variable.source, f"{variable.name}={variable.value}"[:200], variable.line)


def _fix(variable: Variable, setting: ShellCommand | None = None) -> Fix:
    name = variable.name
    if setting is not None:
        text = f"Exclude lo as well ({setting}), name the routable interface, or unset it, in {where_set(variable)}"
        command = shell("export {setting}", setting=setting)
    else:
        text = f"Set {name} to the interface of the job's network, or unset it, in {where_set(variable)}"
        command = shell("unset {name:name}; ip -br addr", name=name)
    unsets = (name,) if setting is None else ()
    return Fix(text, command=command, safety="safe", verify="ip -br addr", unsets=unsets)
