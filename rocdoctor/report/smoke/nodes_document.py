"""Probes between nodes as a document and as JSON: what to do first, the nodes, the ways between them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import one_line
from rocdoctor.report.document import GAP, Block, CommandLines, Fixed, Heading, Note, Para, Table
from rocdoctor.report.smoke import smoke_document
from rocdoctor.train.smoke.nodes.findings import numbers
from rocdoctor.train.smoke.nodes.leader import NodeOutcome
from rocdoctor.train.smoke.nodes.path_findings import face_of
from rocdoctor.train.smoke.nodes.path_probes import ProbedLink, Stream

if TYPE_CHECKING:
    from rocdoctor.host.masking.masker import Masker


def document(outcome: NodeOutcome) -> list[Block]:
    """What stands before the table of modes, and that table with its faults."""
    found = list(_probes(outcome))
    if not outcome.runs:
        return found[:-1] if found and found[-1] == GAP else found
    return [*found, *smoke_document.document(outcome.runs)]


def _probes(outcome: NodeOutcome) -> Iterator[Block]:
    bad = [one for one in outcome.findings if one.severity == "error"]
    if bad and not outcome.runs:
        yield Para(f"The nodes cannot train together: {one_line(bad[0].message)}", bold=True)
        yield GAP
    if len(outcome.nodes) > 1:
        yield Heading(f"{len(outcome.nodes)} nodes, probed in {outcome.probes_s:.1f} s")
        yield GAP
        header, *rows = _nodes(outcome)
        yield Table(header, tuple(rows), partial(_laid, (header, *rows)))
        yield GAP
        for link in outcome.links:
            if link.frame_bytes or link.out or link.error:
                yield Para(_link(link), item=True, folded=False)
        yield GAP
    for one in outcome.findings:
        yield Note(one.severity, one.probe, numbers(one.nodes), one.message)
        yield Para(f"fix: {one_line(one.remedy)}", "  ", "    ")
        if one.command:
            yield CommandLines(((one.command,),), indent=" " * 6)
        yield GAP


def _nodes(outcome: NodeOutcome) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("node", "address", "interface", "MTU", "torch", "Python", "clock")]
    for one in outcome.nodes:
        face = face_of(one)
        ahead = (outcome.clocks or {}).get(one.node)
        clock = "-" if one.node == 0 else ("unknown" if ahead is None else f"{ahead[0]:+.3f} s")
        rows.append(
            (
                str(one.node),
                one.data_address or "unknown",
                face.name if face else "unknown",
                str(face.mtu) if face and face.mtu else "unknown",
                one.versions.get("torch") or "none",
                one.versions.get("python") or "unknown",
                clock,
            )
        )
    return [tuple(one_line(cell) for cell in row) for row in rows]


def _laid(rows: Sequence[Sequence[str]], _: int) -> tuple[Block, ...]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(wide) for cell, wide in zip(row, widths, strict=True)).rstrip() for row in rows)
    return (Fixed(tuple(lines)),)


def _link(one: ProbedLink) -> str:
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


def as_json(outcome: NodeOutcome) -> dict[str, Any]:
    """What stands beside the smoke results in JSON: nodes, links, findings of the probes."""
    clocks = outcome.clocks or {}
    return {
        "probes": {
            "wall_s": round(outcome.probes_s, 3),
            "nodes": [
                {
                    "node": one.node,
                    "address": one.data_address,
                    "interface": face.name if face else None,
                    "mtu_bytes": face.mtu if face else None,
                    "versions": dict(one.versions),
                    "clock_ahead_s": clocks[one.node][0] if one.node in clocks else None,
                }
                for one in outcome.nodes
                for face in (face_of(one),)
            ],
            "links": [asdict(one) for one in outcome.links],
            "findings": [asdict(one) for one in outcome.findings],
        }
    }


_ADDRESS = regex(r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}(?!\w)|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:]))")


_LINK_LOCAL = ipaddress.IPv4Network("169.254.0.0/16")


def discreet(value: Any, names: Sequence[str] = (), masker: Masker | None = None) -> Any:
    """The same text or JSON without public addresses, these host names, secrets and identities: reports are posted.

    Addresses of private networks stay: they are what must be mended, and tell nobody who somebody is. What a later
    text tells of people and machines is masked in the earlier ones too.
    """
    before = None if masker is None else masker.learned()
    made = _discreet(value, names, masker)
    return made if masker is None or masker.learned() == before else _discreet(value, names, masker)


def _discreet(value: Any, names: Sequence[str], masker: Masker | None) -> Any:
    if isinstance(value, dict):
        return {key: _discreet(one, names, masker) for key, one in value.items()}
    if isinstance(value, list):
        return [_discreet(one, names, masker) for one in value]
    if not isinstance(value, str):
        return value
    for name in filter(None, names):
        value = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", "(host name)", value)
    kept: dict[str, str] = {}
    value = _ADDRESS.sub(lambda found: _stand_in(found[0], kept), value)
    if masker is not None:
        value = masker.mask_text(value)
    return _ADDRESS.sub(lambda found: kept.get(found[0], found[0]), value)


def _stand_in(text: str, kept: dict[str, str]) -> str:
    """An address that masking leaves, for one that stays or is public: the words around it tell more than without one.

    What is no address, or holds that of a network card, is left to masking.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    number = len(kept) + 1
    if isinstance(address, ipaddress.IPv4Address):
        new = str(_LINK_LOCAL[number % _LINK_LOCAL.num_addresses])
    elif not address.is_global and "ff:fe" in address.exploded:
        return text
    else:
        new = f"2001:db8:5eed::{number:x}"
    kept[new] = "(public address)" if _is_public(text) else text
    return new


def _is_public(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_global
    except ValueError:
        return False
