"""One interface name is given to all hosts, but their interfaces have different names.

Why
  NCCL_SOCKET_IFNAME and similar variables name interfaces, and mpirun -x, a job script or an image gives every node the
  same value. Names such as enp4s0 come from the slot of the card, so similar machines may have different names. A node
  without that name finds no interface, and the job ends with an internal error or a time-out.

Fix
  List all names with commas, name a prefix that fits them all, or leave the variable out. Or set it on each host.

References
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell


@check(when_said("interfaces-differ-by-host"), cause="network-interface-wrong")
def interface_of_one_host_message(machine: Machine) -> Outcome:
    differ = said(machine, "interfaces-differ-by-host")
    one, two = (str(differ[0].values[name]) for name in ("one", "two"))
    for asked in said(machine, "interface-asked"):
        name, value = str(asked.values["variable"]), str(asked.values["asked"])
        if value.startswith("^") or one == two or _fits(value, one) == _fits(value, two):
            continue
        both = f"{one},{two}"
        return error(
            f"{name}={value} is given to all hosts, but their interfaces have different names ({one} and {two}), "
            "so one of them has no interface of that name.",
            evidence=shown((asked, differ[0])),
            fix=Fix(
                f"Name both ({name}={both}), set the variable on each host separately, or leave it out",
                shell("export {variable:name}={both:interfaces}", variable=name, both=both),
                "safe",
                verify="ip -br addr",
            ),
            confidence="likely",
            explains=("collective-error", "collective-error-message", "network-interface-message"),
        )
    return None


def _fits(value: str, interface: str) -> bool:
    """Whether NCCL takes an interface for a value: names are prefixes, behind = they are whole."""
    names = value.lstrip("=").split(",")
    return any(interface == name if value.startswith("=") else interface.startswith(name) for name in names if name)
