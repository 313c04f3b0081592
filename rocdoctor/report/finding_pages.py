"""Manual pages of findings that no check of one machine makes: of nodes compared, of networks, and of root causes."""

from __future__ import annotations

from collections.abc import Mapping

from rocdoctor.fleet import classes
from rocdoctor.report.document import Para
from rocdoctor.report.text import lines

_WIDE = 118  # as the pages of checks are
# name -> (what it says, why that matters or how it is found, what to do)
_Page = tuple[str, str, str]
_FLEET: Mapping[str, _Page] = {
    classes.GPU_MISSING: (
        "A node has fewer GPUs on the bus than before, or than its peers.",
        "A GPU that leaves the bus takes its job with it. The record counts PCI devices, so no driver is needed to "
        "see it. Class certain: drained when two consecutive rounds show it. A node that always had fewer is "
        "different, not broken.",
        "Drain the node. Look in its kernel log for the PCI address, then power-cycle it; a warm reboot "
        "is often not enough. If you removed the card yourself, run rocdoctor fleet forget STORE NODE.",
    ),
    classes.LINK_BELOW: (
        "A GPU of a node has a narrower or slower link, fewer links to other GPUs, or less memory than its peers.",
        "A link that trains with fewer lanes slows every job that uses it without an error. Class likely: "
        "drained when three of the last five records of this boot show it.",
        "Run rocdoctor check on the node: it names the link and both widths. Reseat the card, then try another "
        "slot or riser.",
    ),
    classes.HOST_BELOW: (
        "A node has less main memory, fewer sockets or fewer network ports up than its peers.",
        "A memory module or a port that failed is disabled at boot, and jobs carry on with less. Class likely: "
        "drained when three of the last five records of this boot show it.",
        "Compare with rocdoctor fleet why STORE NODE, then look at the board's event log (ipmitool sel list).",
    ),
    classes.SWAPPED: (
        "A node has a different GPU than before.",
        "Known only for records made with --key, which give each card a stable pseudonym. For information: "
        "the node's history belongs to another card.",
        "Nothing, if somebody replaced it. Otherwise ask who did.",
    ),
    classes.SLOW: (
        "In three measurements, a GPU was slower than the others in its node, or a node slower than its peers.",
        "Each GPU is compared with the median of its node, and each node with its group: nodes with the same "
        "firmware, driver, partition mode and power cap. The name is followed by the figure. This class (slow) is "
        "proposed for testing, never for draining.",
        "Take the node out of service and run rocdoctor record --with-figures with nothing else running. Check heat "
        "and power limits first.",
    ),
    classes.NET_SLOW: (
        "A node was slow or unreachable for all its partners in two consecutive runs of fleet net.",
        "Its partners were fast with others, so the fault lies between the node and its switch. The node is "
        "proposed for testing, never for draining.",
        "Check its interface for errors (ethtool -S, ip -s link), then replace the cable.",
    ),
    classes.SPELLS: (
        "A lemon: a node had eight separate spells of trouble within seven days.",
        "Each spell alone was too short to act on. Flapping nodes cost more jobs than nodes that fail permanently.",
        "Take it out of service for a longer test. rocdoctor fleet why STORE NODE lists what was seen.",
    ),
    classes.SILENT: (
        "There is no usable record of a node: none came, it was damaged or too old, or its clock is wrong.",
        "An unknown state is neither good nor bad: it never leads to draining a node or returning one to service. The "
        "finding says why the record is missing.",
        "Check that the node is up and that rocdoctor record runs there. For a wrong clock, see chronyc tracking. If "
        "the node is gone permanently, run rocdoctor fleet forget STORE NODE.",
    ),
    classes.UNANSWERED: (
        "A query on a node got no answer in time, so part of its record is missing.",
        "A vendor tool that hangs can mean a hung driver or a busy node. By itself it proves neither.",
        "Run the named query on the node by hand. If it hangs there too, look for processes in state D (ps axo "
        "stat,cmd).",
    ),
    classes.DIFFERENT: (
        "A node's version, setting, package or card differs from that of most peers.",
        "What differs follows the name. If two values are each found on a fifth of the nodes, neither counts as odd. "
        "For information, never a reason to drain.",
        "Make the node match its peers, or leave it if the difference is intended.",
    ),
    "fleet-net-node": (
        "A node is slow with all its partners, or they cannot reach it, although they are fast with others.",
        "Nodes are measured in pairs; a node is rated by its best pair.",
        "Check its interface for errors (ethtool -S, ip -s link), then the cable and the switch port.",
    ),
    "fleet-net-leaf": (
        "Pairs of healthy nodes across a leaf switch are slow.",
        "Named when at least four pairs, and 30 % of all, are slow. The nodes below it are not blamed.",
        "Check the uplinks of that switch.",
    ),
    "fleet-net-pair": (
        "Two nodes are slow with each other, though each is fast with others.",
        "The cause may be the path between them, another job, or chance. Neither node is to blame.",
        "Measure again. If it persists, check the path between their switches.",
    ),
    "fleet-net-all": (
        "Something affects all pairs, or they vary too much to name a node.",
        "Many slow nodes share a cause, no node reaches another, or all are far slower than their interfaces report.",
        "Check what they share: firewall, switch, or the chosen interface (NCCL_SOCKET_IFNAME).",
    ),
    "fleet-net-silent": (
        "A node did not join the run, stopped, or sent no report.",
        "It was not measured, so it is not called slow.",
        "Check that the command still runs there, with the same key.",
    ),
}
# Probes of `smoke --nnodes`, in the order in which they are made; docs/smoke.md has them as a table.
_PROBES: Mapping[str, tuple[str, str]] = {
    "name-resolution": (
        "A host name does not resolve, or resolves to loopback although other nodes must use it.",
        "Give --rdzv an address, or fix /etc/hosts or DNS.",
    ),
    "interface": (
        "GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME names an interface that is missing, down, or has no link or address.",
        "Set it to the interface that leads to the other nodes (ip -brief address).",
    ),
    "rendezvous": (
        "The nodes did not meet: nothing listens, a node did not arrive, or the commands do not match.",
        "Start the same command on all nodes, with the same --rdzv, --nnodes and key.",
    ),
    "port": (
        "The port of --rdzv cannot be used: another program holds it, or this user is not allowed to open it.",
        "Choose another port, the same on all nodes.",
    ),
    "reach": (
        "A node cannot reach another at the address that ranks would use.",
        "Open TCP and UDP ports above 1024 between the nodes, and check routes (ip route).",
    ),
    "mtu": (
        "Full-size frames are lost between two nodes, while small ones pass.",
        "Set the same MTU on both interfaces and on the switch ports between them.",
    ),
    "stream": (
        "A stream of data between two nodes stalls.",
        "Check both interfaces for errors (ip -s link), and firewalls for dropped packets.",
    ),
    "speed": (
        "One stream carries less than a tenth of what the interfaces report.",
        "Check for errors and other traffic, or choose a faster interface.",
    ),
    "gpus": (
        "The nodes do not offer the GPUs that the run needs.",
        "Give --nproc-per-node, or fix what hides GPUs on the named node.",
    ),
    "versions": (
        "Versions of torch, HIP, CUDA, Python or rocdoctor differ between nodes.",
        "Install the same versions on all nodes.",
    ),
    "variables": (
        "Settings of the communication library differ between nodes.",
        "Export the same variables on all nodes.",
    ),
    "clock": (
        "The clocks of two nodes differ by more than a second.",
        "Start a time service on both (chronyc tracking).",
    ),
    "lost": (
        "A node or its link went down during the run.",
        "Check that the named node is up, and check its interface (ip -s link).",
    ),
}


def finding_page(name: str) -> str:
    """The manual page of such a finding, also of one that goes on with what it is about; "" for a name that is none."""
    if (page := _FLEET.get(name.partition(".")[0])) is not None:
        title, why, fix = page
        return _page(title, Why=why, Fix=fix, References="docs/fleet.md")
    if (probe := _PROBES.get(name)) is not None:
        title, fix = probe
        return _page(title, Why="A probe of smoke tests over several nodes.", Fix=fix, References="docs/smoke.md")
    return _of_cause(name)


def _page(title: str, **parts: str) -> str:
    filled = {head: "\n".join(lines([Para(words, "  ")], _WIDE)) for head, words in parts.items()}
    return "\n\n".join((title, *(f"{head}\n{words}" for head, words in filled.items())))


def _of_cause(name: str) -> str:
    from rocdoctor.knowledge.lookup import cause, finer_title

    entry = cause(name)
    if entry is not None:
        return _page(f"Root cause: {entry.title}.", Why=entry.meaning, Fix=entry.remedy)
    title = finer_title(name)
    return _page(f"Root cause: {title}.", Why="A finding names it in addition to a wider cause.") if title else ""


def finding_names() -> list[str]:
    """All names that have such a page, but those of root causes."""
    return [*_FLEET, *_PROBES]
