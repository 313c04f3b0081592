"""Whatever writes says where to, through what and how much, as ``written_places.txt`` has it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import ROOT

_TABLE = Path(__file__).with_name("written_places.txt")
_OF_PATHS = frozenset(
    ["write_text", "write_bytes", "touch", "mkdir", "symlink_to", "hardlink_to", "rename", "rmdir", "unlink", "chmod"]
)
_OF_SYSTEM = frozenset(
    [
        "mkdir",
        "makedirs",
        "rename",
        "replace",
        "renames",
        "link",
        "symlink",
        "unlink",
        "remove",
        "rmdir",
        "chmod",
        "fchmod",
        "lchmod",
        "chown",
        "fchown",
        "lchown",
        "truncate",
        "ftruncate",
        "mkfifo",
        "mknod",
        "utime",
        "setxattr",
    ]
)
_WRITING = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_TMPFILE")
_READS = ("which", "get_terminal_size", "gettempdir")  # of shutil and tempfile


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "()"


def _mode(call: ast.Call) -> str:
    """How a file is opened; a mode that is not written there may be any."""
    given = next((one.value for one in call.keywords if one.arg == "mode"), None)
    given = given or (call.args[1] if len(call.args) > 1 else None)
    if given is None:
        return "r"
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else "w"


def _writes(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    flags = {
        target.id: ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = _dotted(node.func)
        before, _, last = name.rpartition(".")
        if name in ("open", "io.open", "os.fdopen", "gzip.open"):
            if set(_mode(node)) & set("wax+"):
                yield name
        elif name == "os.open":
            told = ast.unparse(node.args[1]) if len(node.args) > 1 else ""
            if any(flag in told or flag in flags.get(told, "") for flag in _WRITING):
                yield name
        elif before == "os":
            if last in _OF_SYSTEM:
                yield name
        elif before in ("tempfile", "shutil"):
            if last not in _READS:
                yield name
        elif before and last in _OF_PATHS:
            yield f".{last}"


def test_each_place_that_writes_says_where_to() -> None:
    found: dict[str, list[str]] = {}
    for path in (ROOT / "rocdoctor").rglob("*.py"):
        if calls := sorted(set(_writes(path.read_text(encoding="utf-8")))):
            found[path.relative_to(ROOT / "rocdoctor").as_posix()] = calls
    told: dict[str, list[str]] = {}
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, listed, why = (part.strip() for part in line.split("|"))
            assert name not in told and len(why) > 5, line
            told[name] = listed.split(", ")
    assert {one: found[one] for one in found if told.get(one) != found[one]} == {}, (
        "new: use write_new, or say where to"
    )
    assert [one for one in told if one not in found] == [], "gone: take the line out"


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ("open(name, 'w')", "open"),
        ("open(name, mode=mode)", "open"),
        ("os.open(name, os.O_WRONLY | os.O_CREAT)", "os.open"),
        ("flags = os.O_RDWR\nos.open(name, flags)", "os.open"),
        ("Path(name).write_text(x)", ".write_text"),
        ("os.replace(a, b)", "os.replace"),
        ("shutil.copy(a, b)", "shutil.copy"),
        ("tempfile.mkstemp()", "tempfile.mkstemp"),
    ],
)
def test_what_writes_is_seen(source: str, call: str) -> None:
    assert list(_writes(source)) == [call]


def test_what_reads_does_not() -> None:
    assert (
        list(_writes("open(name)\nopen(name, 'rb')\nos.open(name, os.O_RDONLY)\nshutil.which(x)\n'a'.replace(b, c)"))
        == []
    )
