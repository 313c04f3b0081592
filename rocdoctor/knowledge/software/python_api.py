"""Names of Python packages that came or went with a release, from ``python_api.yaml``.

None means that the table does not know the name; it never means that a release has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Literal

from rocdoctor.knowledge.load import load_table, words

TABLE = "python_api"
_SAME = {"lightning": ("pytorch_lightning", "pytorch.")}  # one package under two names


@dataclass(frozen=True, slots=True)
class ApiMove:
    """What became of a name: ``gone`` from ``release`` on, or there from it on; "" where the release is not known.

    ``users``: packages, and their first release that uses a name that came, or no longer uses one that is gone.
    """

    package: str
    pip: str
    gone: bool
    release: str
    use: str
    users: Mapping[str, str]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    names: tuple[str, ...]
    inside: tuple[str, ...] | None
    move: ApiMove


@cache
def api_packages() -> Mapping[str, str]:
    """The packages that the table knows, as they are imported, with their names for pip."""
    return {one["package"]: one.get("pip", one["package"]) for one in load_table(TABLE)["packages"]}


def api_move(module: str, name: str = "") -> ApiMove | None:
    """What became of ``name`` in a dotted module, or of the module itself without a name."""
    package, _, inside = module.partition(".")
    if package in _SAME:
        package, prefix = _SAME[package]
        inside = inside.removeprefix(prefix) if inside.startswith(prefix) else inside
    path = f"{inside}.{name}".strip(".")
    for row in _rows().get(package, ()):
        direct = bool(name) and (row.inside is None or inside in row.inside) and _is_one(name, row.names)
        if direct or _is_one(path, row.names):
            return row.move
    return None


def _is_one(name: str, wanted: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, one) for one in wanted)


@cache
def _rows() -> Mapping[str, tuple[_Row, ...]]:
    return {one["package"]: tuple(_row(one, raw) for raw in one["moves"]) for one in load_table(TABLE)["packages"]}


def _row(package: Mapping[str, Any], raw: Mapping[str, Any]) -> _Row:
    gone = "removed" in raw or bool(raw.get("older"))
    side: Literal["removed", "added"] = "removed" if gone else "added"
    move = ApiMove(
        package["package"],
        package.get("pip", package["package"]),
        gone,
        str(raw.get(side, "")),
        raw.get("use", ""),
        raw.get("users", {}),
        words(raw["s"]),
    )
    return _Row(words(raw["names"]), tuple(raw["in"]) if "in" in raw else None, move)
