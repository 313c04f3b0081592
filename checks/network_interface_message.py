"""The collective library could not connect over the network interface that it chose.

Why
  NCCL, RCCL and gloo choose an interface automatically. The other ranks cannot be reached over loopback, docker0 and
  other virtual interfaces, or an interface that only some nodes have: "Connection refused", "No route to host", "no
  socket interface found".

Fix
  Name the interface of the job's network on every node: NCCL_SOCKET_IFNAME for NCCL and RCCL, GLOO_SOCKET_IFNAME for
  gloo (a name excluded with ^ should exclude lo and docker0 both). NCCL_DEBUG=INFO shows which one is used.

References
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
  https://docs.pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell

_KINDS = ("interface-not-found", "collective-connection-failed")
# Other libraries than NCCL, RCCL and gloo, and the variable with which each is told its interfaces.
_VARIABLES = {"Open MPI": "OMPI_MCA_btl_tcp_if_include", "UCX": "UCX_NET_DEVICES"}
_VIRTUAL = (
    ("127.", "the loopback interface (lo)"),
    ("172.17.", "docker0"),
    ("::1", "the loopback interface (lo)"),
    ("169.254.", "a link-local interface"),
    ("192.168.122.", "virbr0"),
)


@check(when_said(*_KINDS), cause="network-interface-wrong")
def network_interface_message(machine: Machine) -> Outcome:
    messages = said(machine, *_KINDS)
    using = said(machine, "using-interface")
    gloo = any("gloo" in one.values for one in messages)
    other = first_value(messages, "library")
    variable = _VARIABLES.get(other or "", "GLOO_SOCKET_IFNAME" if gloo else "NCCL_SOCKET_IFNAME")
    settings = [one for name, one in machine.environment.variables.items() if name == variable]
    address = first_value(messages, "address") or first_value(using, "address") or ""
    interface = first_value(using, "interface")
    kind = next((words for start, words in _VIRTUAL if address.startswith(start)), None)
    library = other or ("gloo" if gloo else "NCCL/RCCL")
    if any(one.kind == "interface-not-found" for one in messages):
        text = f"{library} found no network interface that it can use"
        name = f": none here has the address {address}" if address and not address[:1].isdigit() else ""
        text += f" ({variable}={settings[0].value})." if settings else f"{name}."
    else:
        why = first_value(messages, "why") or "no connection"
        over = f" over {interface}" if interface else ""
        to = f" to {address}" if address else ""
        text = (
            f"{library} could not connect{to}{over} ({why.lower()}): it uses an interface that the ranks do not share."
        )
        if kind:
            text = f"{library} could not connect to {address}, an address of {kind}, which other nodes cannot reach."
        elif settings:
            text = f"{text[:-1]} ({variable}={settings[0].value})."
    answered = not (kind or settings) and {one.values.get("why") for one in messages} == {"Connection refused"}
    if answered:  # the address is right: its machine answered that nobody listens
        text = (
            f"{library} could not connect{f' to {address}' if address else ''} (connection refused): the process there "
            "ended earlier, and its own log shows why, or the interface is one that the ranks do not share."
        )
    value = settings[0].value if settings else ""
    lacks_lo = value.startswith("^") and "lo" not in value.lstrip("^").split(",")
    more = f" {variable}={value} leaves the loopback interface lo among the choices." if lacks_lo else ""
    return error(
        f"{text}{more}",
        evidence=shown((*messages, *using)),
        fix=Fix(
            f"Set {variable} on every node to the interface of the job's network, by the name that ip -br addr shows "
            "there, or exclude the virtual ones with ^lo,docker0; make sure that a firewall lets the nodes talk "
            "to each other",
            command=shell("ip -br addr; export {variable:name}=INTERFACE; export NCCL_DEBUG=INFO", variable=variable),
            safety="safe",
            verify="ip -br addr; NCCL_DEBUG=INFO python3 YOUR_PROGRAM 2>&1 | grep -i 'NET/Socket : Using'",
        ),
        confidence="possible" if answered else "likely",
        explains=("rendezvous-name-resolution",),
    )
