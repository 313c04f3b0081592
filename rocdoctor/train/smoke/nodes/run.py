"""A smoke run over several nodes, seen from one of them: meet, then lead or follow, and leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
from dataclasses import replace
from types import FrameType

from rocdoctor.train.smoke.nodes import member, rendezvous
from rocdoctor.train.smoke.nodes.findings import NodeFinding, choice_of, local_findings
from rocdoctor.train.smoke.nodes.interfaces import is_loopback
from rocdoctor.train.smoke.nodes.leader import Lead, NodeOutcome, Told, Wish, backend_of, for_gpus
from rocdoctor.train.smoke.nodes.local_ranks import Local
from rocdoctor.train.smoke.nodes.node_facts import disclosed, gather
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.nodes.path_probes import Responder
from rocdoctor.train.smoke.nodes.secret import BEFOREHAND, VARIABLE, SecretError, left_for_others, make


def smoke_over_nodes(
    place: NodePlace, wish: Wish, interpreter: str, say: rendezvous.Say, told: Told | None = None
) -> NodeOutcome:
    """Run this node's part; on node 0 with the whole result."""
    with contextlib.ExitStack() as stack:
        os.environ.pop(VARIABLE, None)  # nothing that we start needs it
        before = signal.signal(signal.SIGTERM, _terminate)
        stack.callback(signal.signal, signal.SIGTERM, before)
        local = Local(interpreter, place)
        stack.callback(local.close)
        mine = gather(place.node, interpreter, os.environ)
        backend = backend_of(wish, mine)
        address = choice_of(mine, backend).address
        if address is not None:
            token = secrets.token_hex(12)
            with contextlib.suppress(OSError):
                responder = Responder(address, token)
                stack.callback(responder.close)
                mine = replace(mine, data_address=address, data_port=responder.port, token=token)
        if not is_loopback(place.host):  # on one machine everything may be loopback; the whole is judged below
            for one in local_findings(mine, backend):
                if one.severity == "error":
                    say(f"{one.message} {one.remedy}" + (f" ({one.command})" if one.command else ""))
        try:
            if place.node == 0:
                if not place.key:
                    place = replace(place, key=make())
                    stack.enter_context(left_for_others(place.run, place.key))
                wires, facts = rendezvous.host(place, wish.wait_s, say)
                for other in wires.values():
                    stack.callback(other.close)
                lead = Lead(
                    place, wish, interpreter, local, wires, {0: disclosed(mine, place.key), **facts}, backend, told
                )
                return lead.run()
            wire = rendezvous.join(place, mine, wish.wait_s, say)
        except SecretError as problem:
            words = f"Node 0 cannot tell the others the secret of this run: {problem}."
            return NodeOutcome(
                1, (NodeFinding("rendezvous", "error", "rendezvous-name-resolution", (0,), words, BEFOREHAND),)
            )
        except rendezvous.MeetingError as problem:
            own = [
                one for one in local_findings(mine, backend) if one.severity == "error" and not is_loopback(place.host)
            ]
            return NodeOutcome(1, (*problem.findings, *own), (mine,))
        stack.callback(wire.close)
        more = for_gpus(mine, wire.local_address())
        code, words, lost = member.serve(wire, local, place.node, interpreter, more)
        return NodeOutcome(code, (lost,) if lost else (), (mine,), words=words)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    # A batch system tells the whole step, and who started us tells it again: what is being closed is not left half.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)  # so that everything is closed on the way out
