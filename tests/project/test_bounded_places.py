"""Whatever reads, lists, starts or waits has a bound: in the call itself, or as ``bounded_places.txt`` says."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import ROOT

_TABLE = Path(__file__).with_name("bounded_places.txt")
# Modules whose functions hold whole files and folders, start programs, or ask a directory of accounts.
_MODULES = ("subprocess", "shutil", "gzip", "bz2", "lzma", "tarfile", "zipfile", "glob", "pwd", "grp")
_HARMLESS = ("get_terminal_size", "escape", "compress", "which", "has_magic", "startswith", "struct_passwd")
_OF_SYSTEM = frozenset(
    ["listdir", "scandir", "walk", "fwalk", "fork", "forkpty", "system", "popen", "waitpid", "wait", "getgrouplist"]
)
_WHOLE = frozenset(["iterdir", "glob", "rglob", "read_text", "read_bytes", "extractall", "communicate"])
# These ask the directory of accounts, as ``~`` does where HOME is not set: accounts.expanded has a deadline.
_ACCOUNTS = frozenset(["expanduser", "home", "getlogin", "getuser", "initgroups", "owner"])
# Without arguments these go on to the end, whenever that is.
_TO_THE_END = frozenset(["read", "readlines", "readline", "wait", "join", "accept", "recv"])


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "()"


def _called(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = _dotted(node.func)
        before, _, last = name.rpartition(".")
        plain = not node.args and not node.keywords
        if before in _MODULES:
            if last not in _HARMLESS:
                yield name
        elif before == "os":
            if last in _OF_SYSTEM or last.startswith(("exec", "spawn", "posix_spawn")):
                yield name
        elif before and (last in _WHOLE or (last in _ACCOUNTS and before != "accounts")):
            yield f".{last}"
        elif before and last in _TO_THE_END and plain:
            yield f".{last}()"
        elif name == "input":
            yield name


def _table() -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            path, call, times, why = (part.strip() for part in line.split("|"))
            assert (path, call) not in found and len(why) > 5, line
            found[path, call] = int(times)
    return found


def test_each_place_that_has_no_bound_of_its_own_says_what_bounds_it() -> None:
    found: Counter[tuple[str, str]] = Counter()
    for path in (ROOT / "rocdoctor").rglob("*.py"):
        name = path.relative_to(ROOT / "rocdoctor").as_posix()
        found.update((name, call) for call in _called(path.read_text(encoding="utf-8")))
    told = _table()
    assert {one: found[one] for one in found if told.get(one) != found[one]} == {}, "new: bound it, or say what does"
    assert [one for one in told if one not in found] == [], "gone: take the line out"


# What we wrote ourselves, in this process or for a child of it; each of the others comes from somebody.
_OWN_JSON = {
    "cli/commands/estimate.py": "made of a specification that was read",
    "fleet/kept_files.py": "its callers take what DAMAGED names",
    "host/probe/memory_trace.py": "the request of our own process",
    "host/supervised/server.py": "the settings of our own process",
    "train/recommend/fleet/trials.py": "made of a trial that was read",
    "train/recommend/model/tried.py": "made of a trial that was read",
    "train/smoke/run/request.py": "made of a plan that was read",
}


def _handled(tree: ast.Module, call: ast.Call) -> bool:
    """Whether a sentence follows where a text of brackets is deeper than Python goes."""
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    node: ast.AST = call
    while (parent := above.get(node)) is not None:
        words = ""
        if isinstance(parent, ast.Try) and node in parent.body:
            words = " ".join(ast.unparse(one.type) for one in parent.handlers if one.type is not None)
        elif isinstance(parent, ast.With):
            words = " ".join(ast.unparse(one.context_expr) for one in parent.items)
        if "RecursionError" in words or "DAMAGED" in words:
            return True
        node = parent
    return False


def test_json_of_others_may_be_as_deep_as_it_likes() -> None:
    careless: list[str] = []
    for path in (ROOT / "rocdoctor").rglob("*.py"):
        name = path.relative_to(ROOT / "rocdoctor").as_posix()
        if name in _OWN_JSON or name.startswith("train/smoke/worker/"):  # ranks, whose end is told
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call)]
        loads = [one for one in calls if _dotted(one.func) in ("json.loads", "json.load", "tomllib.loads")]
        careless += [f"{name}:{one.lineno}" for one in loads if not _handled(tree, one)]
    assert [
        one for one in careless if not one.startswith("parsers/formats/json_text.py:")
    ] == []  # which takes single words


def test_checks_read_nothing() -> None:
    for path in (ROOT / "checks").glob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert list(_called(source)) == [] and "open(" not in source, path


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ("import os\nos.listdir(folder)", "os.listdir"),
        ("import glob\nglob.iglob(pattern)", "glob.iglob"),
        ("import subprocess\nsubprocess.run(words)", "subprocess.run"),
        ("Path(name).read_text()", ".read_text"),
        ("with open(name) as stream:\n    stream.read()", ".read()"),
        ("child.wait()", ".wait()"),
        ("place.parent.iterdir()", ".iterdir"),
        ("os.waitpid(child, 0)", "os.waitpid"),
        ("pwd.getpwuid(uid)", "pwd.getpwuid"),
        ("os.path.expanduser(path)", ".expanduser"),
        ("Path(name).expanduser()", ".expanduser"),
        ("Path.home()", ".home"),
        ("getpass.getuser()", ".getuser"),
        ("path.owner()", ".owner"),
    ],
)
def test_what_has_no_bound_is_seen(source: str, call: str) -> None:
    assert list(_called(source)) == [call]


def test_what_has_one_is_not() -> None:
    assert list(_called("stream.read(4096)\nchild.wait(1.0)\n', '.join(words)\nnames_in(folder)")) == []
