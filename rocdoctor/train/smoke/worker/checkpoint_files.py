"""Whether the files of a checkpoint still hold what was written, told by their own sums."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from typing import Any

from .context import Context

# What is where; the first of the ranks that save writes it when all are done.
_TABLE = ".metadata"


def files_are_whole(
    context: Context,
    reader: Any,
    folder: str,
    turn: int,
    group: Any = None,
    many: int | None = None,
    wrote: bool = True,
) -> bool:
    """Whether all that is in the files is as it was written, at each of the ranks that look (of ``group``, ``many``).

    ``reader``: the class of torch that reads such folders. A bad file has one owner, and others cannot load it. All
    get the same answer: they go on together, or not at all. ``wrote``: whether each of them has written a file.
    """
    named: set[str] = set()
    try:
        table = reader(folder).read_metadata().storage_data or {}
        named = {one.relative_path for one in table.values()}
        bad = _bad_files(table, folder)
    except Exception as error:  # a damaged file may raise anything
        bad = {_TABLE: f"cannot be read ({type(error).__name__}: {str(error)[:80]})"}
    seen: list[Any] = [None] * (many or context.world)
    context.torch.distributed.all_gather_object(seen, bad, group=group)
    mine = next((name for name in bad if context.rank in _writers(name, context.world)), "")
    if wrote and named and mine != _TABLE and any(name != _TABLE for name in bad):
        own = any(rank == context.rank for name in named for rank in _writers(name, len(seen)))
        words = "no file has its number, and another one's file is bad: it has written to that one"
        context.expect("before", "the files of this rank", own, words, turn=turn, layer="framework")
    words = f"{bad.get(mine)}: what was written did not stay as it was"
    context.expect("local", f"the file {mine}", not mine, words, turn=turn, layer="configuration")
    # Its writer reads it whole, or is not among these: who reads it otherwise tells so.
    other = next((name for name in bad if not any(name in seen[rank] for rank in _writers(name, len(seen)))), "")
    words = f"{bad.get(other)}, while the rank that wrote it reads it whole or is not among these"
    context.expect("local", f"the file {other}", not other, words, turn=turn, layer="configuration")
    return not any(seen)


def _writers(name: str, many: int) -> list[int]:
    """The rank that a file of a checkpoint is named after, and the first for the table of all; else empty."""
    if name == _TABLE:
        return [0]
    return [rank for rank in range(many) if name.startswith(f"__{rank}_")]


def _bad_files(table: Mapping[Any, Any], folder: str) -> dict[str, str]:
    """What is wrong with each file of a checkpoint; each record in it is a ZIP archive with sums of its parts."""
    bad: dict[str, str] = {}
    for one in table.values():
        name = one.relative_path
        if name in bad:
            continue
        try:
            with open(os.path.join(folder, name), "rb") as stream:
                stream.seek(one.offset)
                data = stream.read(one.length)
            if len(data) < one.length:
                bad[name] = f"ends {one.length - len(data)} bytes too early"
            elif not getattr(one, "transform_descriptors", None):
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    for part in filter(lambda each: each.CRC, archive.infolist()):  # torch can leave the sums out
                        archive.read(part)
        except Exception as error:  # a damaged record may raise anything
            bad[name] = f"cannot be read ({type(error).__name__}: {str(error)[:80]})"
    return bad
