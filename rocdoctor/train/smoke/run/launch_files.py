"""What launched ranks leave behind: their files, read into records of ranks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocdoctor.train.smoke.judge.last_words import TELLING
from rocdoctor.train.smoke.run.pool import RankRecord
from rocdoctor.train.smoke.run.processes import tail
from rocdoctor.train.smoke.worker import board, whereabouts


@dataclass(slots=True)
class RankFiles:
    """What a rank's files say: members of the group that it was told of, and the process that works."""

    world: int
    pid: int
    count: int = 1
    result: dict[str, Any] | None = None
    ended: dict[str, Any] | None = None
    process_state: str = ""


@dataclass(slots=True)
class SeenLaunch:
    """The whole launch: its ranks at the last start of the group, and how the launcher ended."""

    wall_s: float = 0.0
    attempt: int = 0
    ranks: dict[int, RankFiles] = field(default_factory=dict)
    status: int | None = None
    words: str = ""


def look(folder: Path, restarts: int) -> SeenLaunch:
    """The files of the last start of the group, or of the first in which a rank was lost against the plan."""
    last = SeenLaunch()
    for attempt in range(restarts + 1):
        place = folder / str(attempt)
        found = _ranks(place)
        if found:
            last = SeenLaunch(attempt=attempt, ranks=found)
        if not planned_loss(place) and any(map(_lost, found.values())):
            break
    return last


def planned_loss(folder: Path) -> str:
    """The rank that has ended itself because the mode wants it, or nothing."""
    return next((path.name.split(".")[1] for path in folder.glob("planned.*.json")), "")


def _lost(one: RankFiles) -> bool:
    return one.ended is not None if one.result is None else one.result.get("state") == "crashed"


def _ranks(folder: Path) -> dict[int, RankFiles]:
    found: dict[int, RankFiles] = {}
    for path in sorted(folder.glob("started.*.json")):
        values = _json(path)
        if values is None:
            continue
        rank = int(values["rank"])
        if rank in found:
            found[rank].count += 1
            continue
        found[rank] = RankFiles(int(values["world"]), int(values["pid"]))
        found[rank].result = _json(folder / f"result.{rank}.json")
        found[rank].ended = _json(folder / f"ended.{rank}.json")
    return found


def _json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def records(world: int, folder: Path, seen: SeenLaunch) -> list[RankRecord]:
    """The record of each rank at the start that is judged; one that left nothing is empty."""
    place = folder / str(seen.attempt)
    found = []
    for rank in range(world):
        one = RankRecord(rank)
        found.append(one)
        files = seen.ranks.get(rank)
        if files is None:
            continue
        one.note = board.read(str(place / "board"), rank)
        if files.result is not None:
            one.result, one.at, one.gpu = files.result, float(files.result["at"]), files.result.get("gpu")
        elif files.ended is not None:
            one.exit_status, one.exit_signal = files.ended.get("status"), files.ended.get("signal")
            one.ended_at = float(files.ended["at"])
            one.log = tail(place / f"rank{rank}.log", 12, TELLING)
        else:  # still there at the deadline, or ended by the launcher meanwhile
            one.silent, one.process_state = True, files.process_state
            one.stack = whereabouts.told(str(place), rank)
            one.log = tail(place / f"rank{rank}.log", 12, TELLING)
    return found
