"""What people say around a message that is not theirs, as rows of ``message_frames.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rocdoctor.knowledge.load import load_table, words
from rocdoctor.parsers.logs.message_frames import FrameRow


@cache
def frame_rows() -> tuple[FrameRow, ...]:
    """The rows, in the order of the table, in which the first that holds counts."""
    return tuple(_row(one) for one in load_table("message_frames")["frames"])


@cache
def own_expressions() -> tuple[str, ...]:
    """By what a writer says that a message is of their machine all the same."""
    return tuple(str(one["match"]) for one in load_table("message_frames")["own"])


def _row(row: Mapping[str, Any]) -> FrameRow:
    return FrameRow(
        row["kind"], row["where"], row["match"], words(row.get("words")), row.get("never"), bool(row.get("stands"))
    )
