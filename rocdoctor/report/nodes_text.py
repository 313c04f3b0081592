"""Probes between nodes for people: what to do first, the nodes, the ways between them."""

from __future__ import annotations

import textwrap

from rocdoctor.report.clean import one_line
from rocdoctor.smoke.nodes.findings import NodeFinding, numbers
from rocdoctor.smoke.nodes.links import Link, Stream
from rocdoctor.smoke.nodes.path_findings import face_of
from rocdoctor.smoke.nodes.run import Outcome, shown


def render(outcome: Outcome, width: int) -> str:
    """What stands before the table of modes."""
    bad = [one for one in outcome.findings if one.severity == "error"]
    lines = []
    if bad and not outcome.runs:
        lines += [*textwrap.wrap(f"The nodes cannot train together: {one_line(bad[0].message)}", width), ""]
    if len(outcome.nodes) > 1:
        lines += [f"{len(outcome.nodes)} nodes, probed in {outcome.probes_s:.1f} s", "", *_nodes(outcome), ""]
        lines += [*(_link(one) for one in outcome.links if one.frame_bytes or one.out or one.error), ""]
    for one in outcome.findings:
        lines += [*_finding(one, width), ""]
    return "\n".join(lines)


def _nodes(outcome: Outcome) -> list[str]:
    rows = [("node", "address", "interface", "MTU", "torch", "Python", "clock")]
    for one in outcome.nodes:
        face = face_of(one)
        ahead = (outcome.clocks or {}).get(one.node)
        clock = "-" if one.node == 0 else ("unknown" if ahead is None else f"{ahead[0]:+.3f} s")
        rows.append((
            str(one.node), shown(one.data_address) or "unknown", face.name if face else "unknown",
            str(face.mtu) if face and face.mtu else "unknown", one.versions.get("torch") or "none",
            one.versions.get("python") or "unknown", clock,
        ))  # fmt: skip
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(one_line(cell).ljust(wide) for cell, wide in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _link(one: Link) -> str:
    if one.error:
        return f"node {one.a} to node {one.b}: {one_line(one.error)}"
    words = (
        f"node {one.a} to node {one.b}: {one.connect_ms or 0:.1f} ms, there {_rate(one.out)}, back {_rate(one.back)}"
    )
    if one.frame_bytes:
        least = None if one.frame_out is None or one.frame_back is None else min(one.frame_out, one.frame_back)
        words += (
            f", frames up to {least} of {one.frame_bytes} bytes pass"
            if least
            else ", size of frames not known (UDP is blocked)"
        )
    return words


def _rate(one: Stream | None) -> str:
    if one is None:
        return "unknown"
    if one.stalled:
        return f"stalls after {one.received_bytes} bytes"
    rate = one.mbit_s
    return "unknown" if rate is None else (f"{rate / 1000:.1f} Gbit/s" if rate >= 1000 else f"{rate:.0f} Mbit/s")


def _finding(one: NodeFinding, width: int) -> list[str]:
    lines = [f"{one.severity:<7} {one.probe}  {numbers(one.nodes)}"]
    lines += textwrap.wrap(one_line(one.message), width, initial_indent="  ", subsequent_indent="  ")
    lines += textwrap.wrap(f"fix: {one_line(one.remedy)}", width, initial_indent="  ", subsequent_indent="    ")
    return lines + ([f"      {one_line(one.command)}"] if one.command else [])
