"""``python tools/new.py``: each kind in a copy of the project, its files in order, its first test still to be met."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import ROOT

# (arguments, how many files are touched, what of it another file than a new one)
KINDS = {
    "check": (["check", "made-for-a-test"], 2, set[str]()),
    "parser": (["parser", "made_up", "--room", "system", "--command", "made up"], 3, {"output_kinds.py"}),
    "tool": (["tool", "made_gpus", "--command", "made-gpus list"], 4, {"output_kinds.py"}),
    "fact": (["fact", "made_fact", "--record", "memory"], 2, {"system.py"}),
    "message": (["message", "made-message", "--table", "rccl"], 2, {"messages_rccl.yaml"}),
    "command": (["command", "madeup"], 3, {"__init__.py"}),
    "mode": (["mode", "made-up-average"], 2, set[str]()),
    "target": (["target", "madeup"], 3, {"__init__.py"}),
    "format": (["format", "madeup"], 4, {"options.py", "check.py"}),
    "screen": (["screen", "madeup"], 7, {"areas.py", "pyproject.toml", "screens.md"}),
}
# Section of CONTRIBUTING.md -> kind, and how many files its table names: lists beside them follow from these files.
RECIPES = {"A check": ("check", 2), "A parser": ("parser", 4), "A smoke mode": ("mode", 2)}
RECIPES["A tool that reports single GPUs"] = ("tool", 4)
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "venv")


def _run(where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=where, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Path]]]:
    """A copy of the project with one new thing of each kind, and the files that each touched."""
    where = tmp_path_factory.mktemp("project") / "copy"
    shutil.copytree(ROOT, where, ignore=_LEFT_OUT)
    touched = {}
    for kind, (arguments, _, _) in KINDS.items():
        done = _run(where, "tools/new.py", *arguments)
        assert done.returncode == 0, done.stderr
        touched[kind] = [where / name for name in re.findall(r"^(?:wrote|changed) +(\S+)$", done.stdout, re.MULTILINE)]
        assert re.search(r"^next +\.venv/bin/pytest -n0 tests/\S+:", done.stdout, re.MULTILINE)
        others = re.search(r"^next +\.venv/bin/pytest (tests/.+): they look at all of its kind$", done.stdout, re.M)
        assert others is not None
        assert not [name for name in others[1].split() if not (ROOT / name).exists()]
    return where, touched


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_thing_touches_few_files(kind: str, made: tuple[Path, dict[str, list[Path]]]) -> None:
    where, touched = made
    _, count, changed = KINDS[kind]
    assert len(touched[kind]) == count
    before = {path.name for path in touched[kind] if (ROOT / path.relative_to(where)).exists()}
    assert before == changed


@pytest.mark.parametrize("section", RECIPES)
def test_a_recipe_names_all_files(section: str, made: tuple[Path, dict[str, list[Path]]]) -> None:
    where, touched = made
    kind, count = RECIPES[section]
    text = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition(f"### {section}\n")[2].partition("\n### ")[0]
    )
    named = re.findall(r"^\| (?:`([^`]+)`|the module .+?) \|", text, re.MULTILINE)
    assert len(named) == count
    name = next(path.stem for path in touched[kind] if path.parts[len(where.parts)] != "tests")
    names = {one.replace("NAME", name).replace("/ROOM/", "/*/") for one in named}
    missing = [path for path in touched[kind] if not any(path.relative_to(where).match(one) for one in names if one)]
    assert not missing and len([one for one in names if not one]) == count - len(touched[kind])


def test_what_a_tool_tells_of_gpus_are_facts_without_another_file(made: tuple[Path, dict[str, list[Path]]]) -> None:
    text = "$ made-gpus list\nTODO first\nTODO second\n"
    asked = "from rocdoctor.collect import collect; from rocdoctor.paste import open_text; "
    shown = f"print([one.name.value for one in collect(open_text({text!r}, 'x')).gpus])"
    assert _run(made[0], "-c", asked + shown).stdout.strip() == "['first', 'second']"


def test_what_was_written_is_in_order(made: tuple[Path, dict[str, list[Path]]]) -> None:
    where, touched = made
    python = [str(path) for paths in touched.values() for path in paths if path.suffix == ".py"]
    for call in (("ruff", "check"), ("ruff", "format", "--check"), ("compileall", "-q")):
        done = _run(where, "-m", *call, *python)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.heavy
def test_what_was_written_has_types_and_keeps_the_layers(made: tuple[Path, dict[str, list[Path]]]) -> None:
    where, touched = made
    python = {str(path) for paths in touched.values() for path in paths if path.suffix == ".py"}
    done = _run(where, "-m", "mypy", *sorted(python))
    assert done.returncode == 0, done.stdout + done.stderr
    done = _run(where, "-c", "from importlinter.cli import lint_imports_command as run; run()")
    assert "0 broken" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    "kinds",
    [("check", "tool", "fact"), pytest.param(tuple(KINDS), marks=pytest.mark.heavy)],  # others start ranks and screens
    ids=["quick", "all"],
)
def test_each_first_test_runs_and_is_still_to_be_met(
    kinds: tuple[str, ...], made: tuple[Path, dict[str, list[Path]]]
) -> None:
    where, touched = made
    tests = [path for kind in kinds for path in touched[kind] if path.name.startswith("test_")]
    names = [str(path.relative_to(where)) for path in tests]
    names += ["tests/knowledge/test_message_answers.py"] if "message" in kinds else []
    assert len(names) == len(kinds)
    done = _run(where, "-m", "pytest", "-n0", "-q", "-rA", "-p", "no:cacheprovider", *names)
    results = re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED) (\S+?)(?:::|$| )", done.stdout, re.MULTILINE)
    for name in names:
        states = [state for state, place in results if place == name]
        assert states.count("FAILED") == len([one for one in states if one != "PASSED"]) > 0, done.stdout[-3000:]
        assert "PASSED" in states or name.startswith("tests/tui"), done.stdout[-3000:]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list"], "made-for-a-test"),
        (["explain", "made-for-a-test"], "TODO"),
        (["smoke", "--list", "--full"], "made-up-average"),
        (["--help"], "madeup"),
        (["madeup", "--from", "fixtures/rx6600.capture"], "1 GPUs"),
        (["emit", "--help"], "madeup"),
        (["check", "--help"], "madeup"),
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one),
)
def test_rocdoctor_finds_it(arguments: list[str], words: str, made: tuple[Path, dict[str, list[Path]]]) -> None:
    done = _run(made[0], "-m", "rocdoctor", *arguments)
    assert words in done.stdout, done.stderr


def test_nothing_is_overwritten(made: tuple[Path, dict[str, list[Path]]]) -> None:
    where, touched = made
    for kind, (arguments, _, _) in KINDS.items():
        before = {path: path.read_bytes() for path in touched[kind]}
        done = _run(where, "tools/new.py", *arguments)
        assert done.returncode == 2
        assert " exists" in done.stderr
        assert {path: path.read_bytes() for path in touched[kind]} == before


def test_the_row_of_an_output_is_written_whole(made: tuple[Path, dict[str, list[Path]]]) -> None:
    where, _ = made
    look = r"\s{0,12}link \S{1,60}/\d{1,3} state [A-Z]"
    done = _run(
        where, "tools/new.py", "parser", "row_made", "--command", "rdma link", "--hint", "link ", "--line", look
    )
    assert done.returncode == 0, done.stderr
    text = "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0"
    asked = "from rocdoctor.paste import open_text; print(open_text({text!r}, 'x').ask('run rdma link').text)"
    assert _run(where, "-c", asked.format(text=f"I see:\n\n{text}\n")).stdout.strip() == text
    assert _run(where, "-m", "ruff", "format", "--check", "rocdoctor/paste/output_kinds.py").returncode == 0


def test_an_output_goes_on_to_the_end_of_its_block_where_that_is_said(made: tuple[Path, dict[str, list[Path]]]) -> None:
    where, _ = made
    look = r"\s{0,12}chip-[a-z]{3}-[0-9a-f]{4}\s*\Z"
    words = ("--command", "chips", "--hint", "Adapter: ", "--line", look, "--block")
    done = _run(where, "tools/new.py", "parser", "block_made", *words)
    assert done.returncode == 0, done.stderr
    text = "chip-pci-0300\nAdapter: PCI adapter\nedge:  +45.0 C\n\nchip-pci-0400\nedge:  +44.0 C"
    asked = "from rocdoctor.paste import open_text; print(open_text({text!r}, 'x').ask('run chips').text)"
    whole = f"I see:\n\n{text}\n\nCan you tell me what is wrong here?\n"
    assert _run(where, "-c", asked.format(text=whole)).stdout.strip() == text
    assert _run(where, "-m", "ruff", "format", "--check", "rocdoctor/paste/output_kinds.py").returncode == 0


def test_the_row_of_an_output_in_json_begins_at_its_bracket(made: tuple[Path, dict[str, list[Path]]]) -> None:
    where, _ = made
    words = ("--command", "blocks --json", "--hint", '"blocks": [', "--line", r'\s{0,12}"blocks": \[\s*\Z', "--block")
    done = _run(where, "tools/new.py", "parser", "json_made", *words)
    assert done.returncode == 0, done.stderr
    text = '{\n   "blocks": [\n      {"name": "a"}\n   ]\n}'
    asked = "from rocdoctor.paste import open_text; print(open_text({text!r}, 'x').ask('run blocks --json').text)"
    whole = f"I see:\n\n{text}\n\nCan you tell me what is wrong here?\n"
    assert _run(where, "-c", asked.format(text=whole)).stdout.strip() == text
    assert _run(where, "-m", "ruff", "format", "--check", "rocdoctor/paste/output_kinds.py").returncode == 0


@pytest.mark.parametrize(("name", "told"), [("odd-thing", True), ("gpu-odd-thing", False)])
def test_a_check_that_no_area_of_the_screens_knows_is_told(
    name: str, told: bool, made: tuple[Path, dict[str, list[Path]]]
) -> None:
    done = _run(made[0], "tools/new.py", "check", name)
    assert ("machine_parts.py: a word of its name" in done.stdout) == told


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "Pcie"],
        ["check", "../x"],
        ["check", "2gpus"],
        ["check", "x__y"],
        ["parser", "class"],
        ["command", "two-words"],
        ["parser", "rdma", "--room", "nowhere"],
        ["parser", "rdma", "--room", "../host"],
        ["parser", "rdma", "--command", 'a"b'],
        ["parser", "rdma", "--hint", "a\"b'"],
        ["parser", "rdma", "--line", "(a"],
        ["parser", "rdma", "--line", "a\"b'"],
        ["checks", "x"],
        ["check"],
    ],
    ids=" ".join,
)
def test_names_that_cannot_be_are_refused(arguments: list[str], made: tuple[Path, dict[str, list[Path]]]) -> None:
    done = _run(made[0], "tools/new.py", *arguments)
    assert done.returncode == 2
    assert done.stderr
    assert not done.stdout
