"""Variables that a Python file sets too late, or over what its launcher has set."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rocdoctor.lint.python.env_settings import EnvSetting, settings_of
from rocdoctor.lint.python.file_index import CodePlace, FileIndex
from rocdoctor.lint.python.values import UNTOLD, constant, shown
from rocdoctor.parsers.formats.text import whole_number

Rule = Mapping[str, Any]
Found = Iterator[tuple[CodePlace, str]]

# Whoever starts processes may set variables for them at any time.
_STARTERS = frozenset(
    (
        "subprocess",
        "multiprocessing",
        "mp",
        "Popen",
        "spawn",
        "Process",
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "fork",
        "system",
        "ray",
        "start_processes",
        "ProcessPoolExecutor",
        "reload",
    )
)
_LAUNCHED = frozenset(
    ("spawn", "Process", "multiprocessing", "mp", "start_processes", "subprocess", "ray", "MultiProcessTestCase")
)


def after_device_use(index: FileIndex, rule: Rule) -> Found:
    """A variable that fits ``variable``, set after one of ``starts`` or of ``methods`` was surely called."""
    if not index.words.isdisjoint(_STARTERS):
        return
    starts = [one for name in rule.get("starts", ()) for one in index.by_name.get(name, ())]
    starts += [one for name in rule.get("methods", ()) for one in index.by_method.get(name, ()) if _plain(one)]
    for setting in settings_of(index):
        if not re.fullmatch(rule["variable"], setting.name) or setting.value is None or setting.child:
            continue
        if setting.default or not _fresh(setting):
            continue
        place = setting.place
        before = [
            one
            for one in starts
            if one.order < place.order and one.block.function is place.block.function and place.block.within(one.block)
        ]
        if before:
            yield place, f"{setting.name} is set after {shown(_called(before[0]))}() in line {before[0].line}"


def _called(place: CodePlace) -> ast.expr | None:
    return place.node.func if isinstance(place.node, ast.Call) else None


def _plain(place: CodePlace) -> bool:
    """``x.cuda()`` and ``x.cuda(0)``, but no method of a module of that name."""
    return not place.name and isinstance(place.node, ast.Call) and len(place.node.args) <= 1


def _fresh(setting: EnvSetting) -> bool:
    """Whether a value is new, not one that is put back."""
    value = setting.node
    words = shown(value).lower() if value is not None else ""
    return not re.search(r"\b_?(?:old|orig|prev|saved|backup|before|initial)", words)


def device_count_as_setting(index: FileIndex, rule: Rule) -> Found:
    """A list of visible devices that is made from the number of visible devices."""
    for setting in settings_of(index):
        if not re.fullmatch(rule["variable"], setting.name) or setting.node is None or setting.child:
            continue
        told = index.value(setting.node, setting.place.block)
        text = shown(told)
        if isinstance(told, ast.Call) and "torch.cuda.device_count()" in text and "range(" in text and "%" not in text:
            yield setting.place, setting.name


def fixed_rank(index: FileIndex, rule: Rule) -> Found:
    """RANK and WORLD_SIZE set to constants, the latter above 1, in a file that starts no processes."""
    if not index.words.isdisjoint(_LAUNCHED):
        return
    rows = [one for one in settings_of(index) if one.name in ("RANK", "WORLD_SIZE") and not one.child]
    ranks = [one for one in rows if one.name == "RANK" and whole_number(one.value) is not None]
    worlds = [one for one in rows if one.name == "WORLD_SIZE"]
    for one in ranks[:1]:
        for other in worlds:
            size = other.value or ""
            if (whole_number(size) or 0) > 1 and len(ranks) == 1:
                yield one.place, f"RANK={one.value} with WORLD_SIZE={size}"
                return


def own_master(index: FileIndex, rule: Rule) -> Found:
    """MASTER_ADDR set to this host in a file that takes its rank from a launcher and starts no processes."""
    if not index.words.isdisjoint(_LAUNCHED):
        return
    reads = {constant(one.node) for one in index.texts if isinstance(one.node, ast.Constant)}
    rows = settings_of(index)
    own = {one.name for one in rows}
    if "LOCAL_RANK" not in reads or own & {"RANK", "LOCAL_RANK", "WORLD_SIZE"}:
        return
    for one in rows:
        sure = one.place.block.kind in ("module", "function")
        if one.name == "MASTER_ADDR" and one.value in ("localhost", "127.0.0.1") and sure and not one.default:
            yield one.place, f"MASTER_ADDR={one.value}".replace(UNTOLD, "")
