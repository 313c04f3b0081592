"""Parses what Slurm says of its nodes: ``scontrol show node``, and the tables of ``sinfo`` (plain, -N -l, -R).

Names of states and the forms of the tables: Slurm source, src/common/slurm_protocol_defs.c, src/api/node_info.c and
src/sinfo/opts.c (22.05 to 24.11).
"""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex

_MAX_LINES = 100_000
_MAX_NODES = 20_000
_FIELD = regex(r"(?:^|\s)(NodeName|State|Gres|Reason)=")
_SET_BY = regex(r"\s{0,4}\[([^\s@\[\]]{1,64})@([^\s\[\]]{4,40})\]\s*\Z")
_NAME = regex(r"[A-Za-z0-9][\w.,\[\]-]{0,400}\Z")
_STAMP = regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?|Unknown|\d\d/\d\d-\d\d:\d\d:\d\d")
# Every state, in its long and its short form; drained, draining and the like stand for a flag beside another state.
_WORDS = (
    "allocated alloc idle mixed mix completing comp planned plnd reserved resv maint maintenance down drained drain "
    "draining drng fail failing failg error inval invalid unknown unk future futr reboot reboot_issued "
    "reboot_requested boot booting powered_down powering_down powering_up power_down power_up pow_dn pow_up block "
    "blocked not_responding no_respond perfctrs npc cloud dynamic_norm dynamic_future invalid_reg powered_dn powring_dn"
)
STATES = frozenset(_WORDS.split())
_MARKS = "*~#!%$@^-+"


@dataclass(frozen=True, slots=True)
class SlurmNodeEntry:
    """One node, or a list of nodes in Slurm's own short form ("gpu[03-04]"), in one state.

    ``states``: lower case, without marks; ``silent``: marked as not responding. ``reason`` as it was set, in tables cut
    to 20 characters.
    """

    names: str
    line: int
    states: tuple[str, ...] = ()
    silent: bool = False
    reason: str | None = None
    set_by: str | None = None
    gres: str | None = None


def parse_slurm_nodes(text: str) -> tuple[SlurmNodeEntry, ...]:
    """Every node of every form in the text, in its order; of a node that is listed twice the fuller entry."""
    found: dict[tuple[str, tuple[str, ...]], SlurmNodeEntry] = {}
    header: list[str] | None = None
    block: dict[str, str] = {}
    begun = 0
    for number, raw in enumerate(text.split("\n", _MAX_LINES)[:_MAX_LINES], 1):
        line = raw[:4000]
        if "NodeName=" in line:
            _keep(found, _of_block(block, begun))
            block, begun, header = {}, number, None
        if begun and (line.startswith(" ") or "NodeName=" in line):
            _read(block, line)
            continue
        words = line.split()
        if "NODELIST" in words and ("STATE" in words or "REASON" in words):
            header = words
        elif header is not None:
            _keep(found, _of_row(header, line, number))
        if len(found) >= _MAX_NODES:
            break
    _keep(found, _of_block(block, begun))
    return tuple(sorted(found.values(), key=lambda one: one.line))


def _keep(found: dict[tuple[str, tuple[str, ...]], SlurmNodeEntry], one: SlurmNodeEntry | None) -> None:
    if one is None:
        return
    key = (one.names, one.states)
    held = found.get(key)
    if held is None or len(one.reason or "") > len(held.reason or ""):
        found[key] = one


def _read(block: dict[str, str], line: str) -> None:
    """The fields of one line; a reason goes on to the end of its line."""
    at = [(match.start(1), match[1]) for match in _FIELD.finditer(line)]
    for place, (start, name) in enumerate(at):
        end = at[place + 1][0] if place + 1 < len(at) and name != "Reason" else len(line)
        value = line[start + len(name) + 1 : end].strip()
        if name != "Reason":
            value = value.split()[0] if value else ""
        block.setdefault(name, value)
        if name == "Reason":
            return


def _of_block(block: dict[str, str], line: int) -> SlurmNodeEntry | None:
    names, state = block.get("NodeName", ""), block.get("State", "")
    told = _states(state)
    if not _NAME.match(names) or told is None:
        return None
    reason = block.get("Reason")
    by = _SET_BY.search(reason) if reason else None
    if by and reason is not None:
        reason = reason[: by.start()]
    gres = block.get("Gres", "(null)")
    return SlurmNodeEntry(
        names,
        line,
        told[0],
        told[1],
        _words(reason),
        by[1] if by else None,
        None if gres in ("(null)", "") else gres,
    )


def _of_row(header: list[str], line: str, number: int) -> SlurmNodeEntry | None:
    """A row of a table; the reason, which holds blanks, is the first or the last column."""
    count = len(header)
    if header[-1] == "REASON":
        cells = line.split(None, count - 1)
    elif header[0] == "REASON":
        cells = line.rsplit(None, count - 1)
    else:
        cells = line.split()
    if len(cells) != count:
        return None
    row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
    names = row["NODELIST"]
    if not _NAME.match(names):
        return None
    told = _states(row["STATE"]) if "STATE" in row else ((), False)
    if told is None or ("TIMESTAMP" in row and not _STAMP.fullmatch(row["TIMESTAMP"])):
        return None
    return SlurmNodeEntry(names, number, told[0], told[1], _words(row.get("REASON")), row.get("USER"))


def _states(text: str) -> tuple[tuple[str, ...], bool] | None:
    """(states, whether marked as silent); None for what is no state."""
    parts = [part.rstrip(_MARKS).lower() for part in text[:200].split("+") if part.rstrip(_MARKS)]
    if not parts or not all(part in STATES for part in parts):
        return None
    silent = "*" in text or "not_responding" in parts or "no_respond" in parts
    return tuple(dict.fromkeys(parts)), silent


def _words(text: str | None) -> str | None:
    kept = (text or "").strip()[:400]
    return kept if kept and kept.lower() not in ("none", "(null)", "n/a", "unknown") else None
