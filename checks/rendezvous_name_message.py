"""The processes of a job did not find each other: a name does not resolve, or the rendezvous cannot be reached.

Why
  Each process connects to one address (MASTER_ADDR and MASTER_PORT, or torchrun's --rdzv-endpoint). It must resolve to
  the same machine on every node, and the port must be reachable. These messages come from names that only one node
  knows, a host name that maps to 127.0.1.1, a name server without reverse look-ups, or a firewall.

Fix
  Use the IP address of the first node instead of its name, or add the names to /etc/hosts on every node; start every
  node with the same endpoint, rendezvous id and node count.

References
  https://docs.pytorch.org/docs/stable/elastic/run.html
  https://docs.pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error, info, warning
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import ShellCommand, shell

_NAME, _FAILED, _WORDS = "name-not-resolved", "rendezvous-failed", "rendezvous-words"


@check(when_said(_NAME, _FAILED, _WORDS), cause="rendezvous-name-resolution")
def rendezvous_name_message(machine: Machine) -> Outcome:
    names, failed = said(machine, _NAME), said(machine, _FAILED)
    words = () if failed else said(machine, _WORDS)
    failed = failed or words
    variables = machine.environment.variables
    whole = [one for one in (*names, *failed) if {"host", "port"} <= set(one.values)]
    host = first_value((*whole, *names, *failed), "host", "host2")
    if host is None and "MASTER_ADDR" in variables:
        host = variables["MASTER_ADDR"].value
    port = first_value((*whole, *names, *failed), "port", "port2")
    address = f"{host}:{port}" if host and port else host
    gloo = any("gloo" in one.values for one in names)
    variable = "GLOO_SOCKET_IFNAME" if gloo else "MASTER_ADDR or --rdzv-endpoint"
    how = (
        "Use the IP address of the first node for MASTER_ADDR (torchrun: --master_addr, --rdzv-endpoint), or add every "
        "host name to /etc/hosts (or DNS) so that it resolves to the same address on all nodes, forwards and "
        "backwards; "
        "start every node with the same endpoint, rdzv id and number of nodes. torchrun's c10d backend serves "
        "the store on the "
        "node whose own hostname or FQDN equals the rdzv_endpoint: where none matches, use the full name or "
        "--rdzv-conf "
        "is_host=1 there"
    )
    if gloo:
        how += (
            "; for gloo name the interface with GLOO_SOCKET_IFNAME and give each node's own host name a line in "
            "/etc/hosts"
        )
    verify = shell(
        "getent hosts {host}; nc -vz {host} {port}",
        host=host or ShellCommand("$MASTER_ADDR"),
        port=port or ShellCommand("$MASTER_PORT"),
    )
    weak = all("weak" in one.values for one in names)
    if names and weak and not failed:
        # Printed by sound jobs too: the name behind the address of a connection is looked up for messages only.
        return info(
            "The name of a host of the job cannot be looked up from its address (reverse DNS). Jobs run without "
            "it; it matters only if the processes do not find each other.",
            evidence=shown(names),
            fix=Fix(
                "If processes do not find each other, give each node a line in /etc/hosts, or fix the reverse DNS",
                safety="manual",
            ),
        )
    if names and not weak:
        what = f"The host name {host} does not resolve" if host else "A host name of the rendezvous does not resolve"
        return error(
            f"{what} on this node: the processes of the job do not find each other ({variable}).",
            evidence=shown((*names, *failed)),
            fix=Fix(how, command="getent hosts $(hostname); cat /etc/hosts", safety="safe", verify=verify),
            confidence="certain",
            explains=("network-interface-wrong",),
        )
    local = host in ("localhost", "127.0.0.1", "::1", "0.0.0.0")
    joined, world = first_value(failed, "joined"), first_value(failed, "world")
    missing = f" ({joined} of {world} processes joined)" if joined and world else ""
    where = f" at {address}" if address else ""
    extra = f" {host} is each node's own address: only a job on one machine can use it." if local else ""
    return (warning if words else error)(
        f"The processes of the job did not meet at the rendezvous{where}{missing}: the endpoint does not "
        f"resolve to the "
        f"first node, cannot be reached, or differs between the nodes.{extra}",
        evidence=shown(failed),
        fix=Fix(how, command="getent hosts $MASTER_ADDR", safety="safe", verify=verify),
        confidence="possible" if words else "likely",
        explains=("network-interface-wrong",),
    )
