"""What verdicts say of ranks: their state, their words, where they were. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.parsers.own.smoke_results import State
from rocdoctor.train.smoke.run.pool import RankRecord

# What a verdict says that leaves open whose fault it is; where all ranks may be it, none is named.
UNTOLD = "it is not clear"


def state_of(one: RankRecord) -> State:
    """The rank's own verdict; without a record it is lost."""
    if one.result is None:
        return "crashed"
    state: State = one.result.get("state", "crashed")
    # Some torch builds abort at exit after all work is done; what counts is that the result had been given.
    return state


def said(one: RankRecord) -> str:
    """What the rank said of its end."""
    return str((one.result or {}).get("message", ""))


def kind_of(one: RankRecord) -> str:
    """What kind of error it met; empty when none."""
    return str((one.result or {}).get("kind", ""))


def ranks_text(many: Sequence[RankRecord]) -> str:
    """``rank 1 (GPU 0000:03:00.0)`` or ``ranks 0, 2``."""
    ordered = sorted(many, key=lambda one: one.rank)
    places = {_where(one) for one in ordered}
    each = len(places) > 1
    names = ", ".join(f"{one.rank}{_where(one) if each else ''}" for one in ordered[:8])
    return (
        ("rank " if len(many) == 1 else "ranks ")
        + names
        + (" ..." if len(many) > 8 else "")
        + ("" if each else places.pop())
    )


def _where(one: RankRecord) -> str:
    parts = [] if one.node is None else [f"node {one.node}"]
    parts += [f"GPU {one.gpu}"] if one.gpu else []
    return f" ({', '.join(parts)})" if parts else ""


def where_text(one: RankRecord) -> str:
    """The step that the rank announced last, and the last collective that it entered."""
    mark, call = str(one.note.get("mark", "")), str(one.note.get("call", ""))
    words = f" at '{mark}'" if mark and mark != "start" else ""
    return words + (f" (last collective: number {one.note.get('seq')}, {call.strip()})" if call else "")
