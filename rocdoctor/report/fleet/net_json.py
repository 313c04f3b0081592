"""The JSON contract ``rocdoctor.net/1``: public, only added to. ``fleet tick`` reads it."""

from __future__ import annotations

from typing import Any

from rocdoctor import __version__
from rocdoctor.fleet.net.net_run import NetRun, findings, headline
from rocdoctor.fleet.net.pair_usual import shown_rates
from rocdoctor.fleet.net.read_net import SCHEMA
from rocdoctor.model.printable import clean
from rocdoctor.train.smoke.nodes.pair_results import LARGE_BYTES, SMALL_BYTES


def report(run: NetRun) -> dict[str, Any]:
    """The run as plain data, names of nodes in place of numbers."""
    usual = run.verdict.usual
    return {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "taken_at": run.taken_at,
        "seed": run.seed,
        "headline": clean(headline(run)),
        "rounds": [{"pairs": pairs, "seconds": round(seconds, 3)} for pairs, seconds in run.rounds],
        "usual": [
            {"same_leaf": same if run.leaves else None, "interface_mbit_s": speed, "mbit_s": round(rate, 1)}
            for same, speed, rate in shown_rates(usual)
        ],
        "floor_share": None if run.verdict.uneven else round(usual.floor, 3),
        "findings": [
            {
                "kind": one.kind,
                "severity": one.severity,
                "about": list(one.about),
                "message": clean(one.message),
                "remedy": clean(one.remedy),
                "command": one.command or None,
            }
            for one in findings(run)
        ],
        "nodes": [
            {
                "node": run.names[one.node],
                "state": one.state,
                "share": None if one.share is None else round(one.share, 3),
                "mbit_s": None if one.rate is None else round(one.rate, 1),
                "rtt_us": None if one.rtt_us is None else round(one.rtt_us, 1),
                "slow_with_proven": one.with_proven,
                "leaf": run.leaves.get(one.node),
                "interface": run.faces.get(one.node),
                "message": clean(run.message(one)),
            }
            for one in run.verdict.nodes
        ],
        "leaves": [
            {"leaf": one.leaf, "slow": one.slow, "pairs": one.pairs, "named": one.named} for one in run.verdict.leaves
        ],
        "pairs": [
            {
                "a": run.names[one.a],
                "b": run.names[one.b],
                "round": one.round,
                "state": one.state,
                "out_mbit_s": None if one.out_mbit_s is None else round(one.out_mbit_s, 1),
                "back_mbit_s": None if one.back_mbit_s is None else round(one.back_mbit_s, 1),
                "rtt_64_bytes_us": _us(one.rtt_us.get(SMALL_BYTES)),
                "rtt_64_kib_us": _us(one.rtt_us.get(LARGE_BYTES)),
                "why": clean(one.why) or None,
            }
            for one in run.results
        ],
    }


def _us(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
