"""Another node's side: it does what node 0 says, and nothing is left when node 0 is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rocdoctor.model.printable import one_line
from rocdoctor.train.smoke.judge.late_rank import EVERY_S
from rocdoctor.train.smoke.nodes import messages, path_probes
from rocdoctor.train.smoke.nodes.findings import NodeFinding
from rocdoctor.train.smoke.nodes.interfaces import bindable, interfaces, owner
from rocdoctor.train.smoke.nodes.local_ranks import Local
from rocdoctor.train.smoke.nodes.messages import ProbeTarget
from rocdoctor.train.smoke.nodes.path_probes import ProbedLink, Stream
from rocdoctor.train.smoke.nodes.polling import ready
from rocdoctor.train.smoke.nodes.signed_lines import SILENT_S, Wire
from rocdoctor.train.smoke.run.pool import Pool, PoolError

_CAUSE = "network-interface-wrong"


def serve(
    wire: Wire, local: Local, node: int, interpreter: str, more: Mapping[str, str]
) -> tuple[int, str, NodeFinding | None]:
    """Do what node 0 says until it says that it is the end.

    Gives the exit code, node 0's words, and a finding where node 0 was lost. ``more``: variables for ranks on GPUs.
    """
    generation = 0
    starved_s, next_look = 0.0, time.monotonic()
    while True:
        waited: list[int | Wire] = [wire, *local.handles()]
        ready(waited, 0.25)
        for word in wire.take():
            if "end" in word:
                code = word.get("code")
                return (
                    code if isinstance(code, int) and 0 <= code <= 3 else 1,
                    one_line(str(word.get("words", ""))[:600]),
                    None,
                )
            if "do" in word:
                generation = word.get("generation", generation)
                try:
                    _obey(wire, local, node, interpreter, word, more)
                except messages.OrderError:
                    return 1, "", _senseless(node)
                wire.heard = time.monotonic()  # what came meanwhile has not been read yet
        for event in local.events():
            wire.say(**event, generation=generation)
        if time.monotonic() >= next_look:
            before_s, starved_s = starved_s, local.starved_s()
            if starved_s != before_s:
                wire.say(starved_s=starved_s, generation=generation)
            next_look = time.monotonic() + EVERY_S
        if wire.lost:
            return 1, "", _lost(wire, node)


def _obey(
    wire: Wire, local: Local, node: int, interpreter: str, order: Mapping[str, Any], more: Mapping[str, str]
) -> None:
    what = order["do"]
    if what == "time":
        wire.say(time=time.time(), monotonic=time.monotonic())
    elif what == "probe":
        aims = messages.targets(order, bindable(wire.peer_address()))
        wire.say(probed=[asdict(one) for one in probe(node, aims, order.get("measure") is True)])
    elif what == "survey":
        wire.say(surveyed=survey(interpreter))
    elif what == "start":
        how = messages.start(order)
        local.start(how.per_node, how.backend, how.device, how.timeout_s, more if how.device != "cpu" else None)
    elif what == "mode":
        local.order(messages.mode(order))
    elif what == "look":
        wire.say(looked=local.look(messages.silent(order)))
    elif what == "stop":
        local.stop()
        wire.say(stopped=1)
    else:
        raise messages.OrderError


def _senseless(node: int) -> NodeFinding:
    words = f"Node 0 gave node {node} an order that makes no sense, so node {node} has stopped."
    return NodeFinding("lost", "error", _CAUSE, (0,), words, "Compare the versions of rocdoctor on both nodes.")


def _lost(wire: Wire, node: int) -> NodeFinding:
    face = owner(now := interfaces(), _safe_address(wire))
    mine = next((one for one in now if one.name == face), None)
    how = "closed the connection" if wire.closed else f"has not been heard of for {SILENT_S:g} s"
    words = f"Node 0 {how}"
    advice = "Look at node 0's report, whether node 0 still runs, and whether every hop on the way is up."
    where: tuple[int, ...] = (0,)
    if mine is not None and not (mine.up and mine.running):
        words += f", and {mine.name} of node {node} has no link" + (" (no carrier)" if mine.up else " (it is down)")
        advice = f"Look at the cable and the switch port of {mine.name} on node {node}."
        where = (node,)
    elif mine is not None and not wire.closed:
        words += f"; {mine.name} of node {node} has its link"
    return NodeFinding("lost", "error", _CAUSE, where, words + ".", advice, "ip -s link")


def _safe_address(wire: Wire) -> str:
    try:
        return wire.local_address()
    except OSError:
        return ""


def probe(node: int, targets: Sequence[ProbeTarget], measure: bool) -> list[ProbedLink]:
    """Connect to the targets all at once, or measure the ways to them one after another."""
    if measure:
        return [path_probes.measure(*_way(node, one), one.frame) for one in targets]
    found: list[ProbedLink] = []
    threads = [
        threading.Thread(target=lambda one=one: found.append(path_probes.connect(*_way(node, one))), daemon=True)
        for one in targets
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + path_probes.CONNECT_S * 2 + 1
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    told = {one.b for one in found}
    missing = [ProbedLink(node, one.node, one.address, "no answer") for one in targets if one.node not in told]
    return [*found, *missing]


def _way(node: int, one: ProbeTarget) -> tuple[int, int, str, int, str]:
    return node, one.node, one.address, one.port, one.token


def link_from_json(value: Any, a: int, asked: Mapping[int, str]) -> ProbedLink:
    """A link that node ``a`` measured to one of those that it was asked for, by node with their addresses.

    Raises:
        OrderError: it is none.
    """
    if not isinstance(value, dict):
        raise messages.OrderError
    b = messages.whole(value.get("b"), 0, 1 << 20)
    if b not in asked:
        raise messages.OrderError

    def stream(name: str) -> Stream | None:
        one = value.get(name)
        if not isinstance(one, dict):
            return None
        return path_probes.stream_of(one.get("received_bytes"), one.get("seconds"), one.get("stalled"), one.get("busy"))

    def number(name: str) -> int | None:
        return None if value.get(name) is None else messages.whole(value[name], 0, 65535)

    ms = value.get("connect_ms")
    return ProbedLink(
        a,
        b,
        asked[b],
        one_line(str(value.get("error", ""))[:200]),
        None if ms is None else messages.seconds(ms),
        number("frame_bytes"),
        number("frame_out"),
        number("frame_back"),
        stream("out"),
        stream("back"),
        value.get("told") is True,
    )


def survey(interpreter: str) -> dict[str, Any]:
    """The GPUs that torch sees on this node: ``{"gpus": count, "nccl": bool, "gloo": bool, "problem": ""}``."""
    try:
        with Pool(interpreter) as pool:
            seen = pool.survey()
            return {
                "gpus": len(seen["gpus"]),
                "nccl": bool(pool.hello.get("nccl")),
                "gloo": bool(pool.hello.get("gloo")),
                "problem": str(seen.get("error", ""))[:300],
            }
    except PoolError as problem:
        return {"gpus": 0, "nccl": False, "gloo": False, "problem": str(problem)[:300]}
