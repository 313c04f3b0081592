"""The rules that keep the project in shape: what a check file holds and imports, what is packaged, who prints.

Who may import whom stands in pyproject.toml (``lint-imports``); checks are loaded from their folder, so theirs is here.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.judging.loading import check_files, load_check, name_of
from rocdoctor.knowledge.lookup import cause
from tests.examples import rows
from tests.kit import NOT_SAFE, ROOT

PACKAGE = ROOT / "rocdoctor"
CHECKS = check_files(ROOT / "checks")


def _project() -> dict[str, Any]:
    # tomllib came with Python 3.11; setuptools carries the same parser for older ones.
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "setuptools._vendor.tomli")
    loaded: dict[str, Any] = toml.loads((ROOT / "pyproject.toml").read_text())
    return loaded


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _modules(folder: str) -> list[Path]:
    return sorted((PACKAGE / folder).glob("**/*.py"))


def test_the_package_list_names_every_folder_with_code() -> None:
    listed = set(_project()["tool"]["setuptools"]["packages"])
    on_disk = {"rocdoctor", "rocdoctor.checks", "rocdoctor.profiles"}
    on_disk |= {
        "rocdoctor." + ".".join(path.parent.relative_to(PACKAGE).parts)
        for path in PACKAGE.glob("**/__init__.py")
        if path.parent != PACKAGE
    }
    assert listed == on_disk
    assert all(
        (path / "__init__.py").exists() for path in PACKAGE.iterdir() if path.is_dir() and list(path.glob("*.py"))
    )


def test_every_module_has_a_room() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}
    assert not list(PACKAGE.glob("tools")), "tools are not installed"


@rows("path", CHECKS, ids=lambda path: path.stem)
def test_checks_see_facts_and_nothing_else(path: Path) -> None:
    for name in _imports(path):
        if name.startswith("rocdoctor"):
            module = ".".join(name.split(".")[:3])
            banned = ("rocdoctor.host", "rocdoctor.collect", "rocdoctor.parsers", "rocdoctor.report", "rocdoctor.tui")
            assert not module.startswith(banned), f"{path.name} imports {name}"
        assert name.split(".")[0] not in {"os", "subprocess", "socket", "pathlib", "torch"}, (
            f"{path.name} imports {name}"
        )


@rows("path", CHECKS, ids=lambda path: path.stem)
def test_a_check_has_one_spelling_for_each_end(path: Path) -> None:
    """``error``, ``warning``, ``info`` or ``finding`` for a finding, ``raise unknown(...)`` for what is not known."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    called = {node.func.id for node in calls if isinstance(node.func, ast.Name)}
    assert not called & {"Finding", "NotKnown"}
    assert "known(Unknown(" not in path.read_text()


def _written(node: ast.expr) -> str:
    return " ".join(one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))


@rows("path", [*CHECKS, *_modules("insight")], ids=lambda path: path.stem)
def test_what_restarts_replaces_or_loads_is_not_called_safe(path: Path) -> None:
    """As far as it is written there; ``tests.kit.keeps_contract`` sees every finding of a test."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Fix":
            parts = dict(zip(("text", "command", "safety"), node.args, strict=False))
            parts |= {word.arg: word.value for word in node.keywords if word.arg}
            safety = parts.get("safety")
            if isinstance(safety, ast.Constant) and safety.value == "safe" and "command" in parts:
                assert not NOT_SAFE.search(_written(parts["command"])), ast.unparse(parts["command"])


_OF_TABLES = re.compile(
    r"\b(?:apt|apt-get|dnf|yum|zypper|pacman|apk|emerge) (?:-\S+ )*"
    r"(?:(?:re)?install|(?:auto)?remove|purge|update|upgrade|-[SRF])|\bapt-(?:cache|file)\b"
    r"|\bpip3? install [^;]*--(?:extra-)?index-url|\b(?:download\.pytorch|repo\.(?:radeon|amd))\."
)


def _texts(path: Path) -> Iterator[str]:
    """The strings of a file, also those in pieces, without the docstrings."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for inner in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.Expr) and isinstance(inner, ast.Constant)):
                yield from (
                    [inner.value]
                    if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
                    else [_written(inner)]
                    if isinstance(inner, ast.JoinedStr | ast.Tuple)
                    else []
                )


@rows("path", [*CHECKS, *_modules("insight"), *_modules("repair")], ids=lambda path: path.stem)
def test_commands_of_package_managers_come_from_the_tables(path: Path) -> None:
    """Which manager a machine has, and what it calls a thing, is knowledge of distributions: so are wheel indexes."""
    assert not [text for text in _texts(path) if _OF_TABLES.search(text)]


@rows("path", CHECKS, ids=lambda path: path.stem)
def test_a_check_has_a_manual_page_a_test_and_a_known_cause(path: Path) -> None:
    one = load_check(path)
    lines = one.manual.strip().split("\n")
    assert re.fullmatch(r"\S.{10,118}", lines[0]), "the first line states the problem"
    sections = [line.strip() for line in lines if line.strip() in ("Why", "Fix", "References")]
    assert sections == ["Why", "Fix", "References"]
    assert (ROOT / "tests" / "checks" / f"test_{path.stem}.py").exists()
    assert not one.cause or cause(one.cause) is not None
    assert name_of(path) == one.name


def test_causes_named_in_checks_exist() -> None:
    for path in CHECKS:
        for found in re.findall(r"cause=\"([a-z0-9-]+)\"", path.read_text()):
            assert cause(found) is not None, f"{path.name}: {found}"


def test_checks_lie_flat() -> None:
    assert not [path for path in (ROOT / "checks").glob("*/*.py") if "__pycache__" not in path.parts]


def test_torch_is_in_no_dependency_list_but_that_of_development() -> None:
    project = _project()["project"]
    assert not [one for one in project["dependencies"] if one.startswith("torch")]
    assert project["optional-dependencies"]["torch"] == ["torch>=2.1"]


@pytest.mark.parametrize(
    ("arguments", "banned"),
    [
        (["--help"], {"textual", "torch", "yaml", "rocdoctor.collect"}),
        (["list"], {"textual", "torch", "yaml", "rocdoctor.collect", "rocdoctor.host.live.live_host"}),
        (["explain", "gpu-without-driver"], {"textual", "torch", "yaml", "rocdoctor.collect"}),
        (["check", "--from", str(ROOT / "fixtures")], {"textual", "torch"}),
        (
            ["check", "--from", str(ROOT / "fixtures" / "recorded-cpu-vm.capture"), "--no-color"],
            {"difflib", "statistics", "rocdoctor.collect.gpus.drm", "rocdoctor.train.smoke.figures.figure_math"},
        ),
        pytest.param(["check"], {"difflib", "statistics", "rocdoctor.host.evidence.capture"}, marks=pytest.mark.live),
    ],
    ids=["help", "list", "explain", "check", "check of a machine without GPUs", "check of this machine"],
)
def test_a_cold_start_loads_nothing_heavy(arguments: list[str], banned: set[str]) -> None:
    program = (
        "import sys\n"
        "from rocdoctor.cli.main import run\n"
        "try: run(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert not banned & set(done.stderr.splitlines())


def test_no_shell_is_ever_used() -> None:
    for path in [*PACKAGE.glob("**/*.py"), *CHECKS]:
        text = path.read_text()
        assert "shell=True" not in text, path
        assert "os.system(" not in text, path


# These run in the user's interpreter and speak through pipes.
_OWN_PRINTS = ("host/probe/", "train/smoke/worker/")
# A look at a stream, its end and its descriptor; nothing is written to it there.
_LOOKS = {"isatty", "encoding", "fileno", "flush", "reconfigure", "write_through"}


def test_one_module_alone_prints() -> None:
    for path in PACKAGE.glob("**/*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        if place == "host/output.py" or place.startswith(_OWN_PRINTS):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", f"{place}:{node.lineno}"
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Attribute)
                and node.value.attr in ("stdout", "stderr")
            ):
                own = isinstance(node.value.value, ast.Name) and node.value.value.id == "sys"
                assert not own or node.attr in _LOOKS, f"{place}:{node.lineno}: {node.attr}"


def test_an_unguarded_fact_fails_type_checking(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        "from rocdoctor.model.evidence import Fact\n\n\n"
        "def wrong(fact: Fact[int]) -> int:\n    return 1 if fact else 0\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--enable-error-code", "truthy-bool", str(snippet)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "truthy-bool" in done.stdout
    assert done.returncode == 1


def test_files_stay_short_enough_to_be_read() -> None:
    long = {
        "rocdoctor/host/probe/interpreter.py": "one file: nothing is put on the path of the interpreter under test",
    }
    lines = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8").count("\n")
        for path in [*PACKAGE.rglob("*.py"), *CHECKS]
    }
    assert {path: count for path, count in lines.items() if count > 400 and path not in long} == {}


def test_a_class_has_a_name_of_its_own() -> None:
    """Options are what each command declares; a name that begins with an underscore is at home in its module."""
    found: dict[str, list[str]] = {}
    for path in [*PACKAGE.rglob("*.py"), *CHECKS]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name != "Options":
                found.setdefault(node.name, []).append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_no_line_is_exempt_from_the_formatter() -> None:
    mark = re.compile(r"#\s*(?:fmt|yapf):|#\s*(?:ruff|isort):\s*(?:skip|off)")
    files = [path for place in ("rocdoctor", "checks", "tests", "tools") for path in (ROOT / place).glob("**/*.py")]
    assert len(files) > 1_000
    assert [str(path) for path in files if mark.search(path.read_text(encoding="utf-8"))] == []
