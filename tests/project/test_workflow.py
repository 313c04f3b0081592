"""The hosted workflow does what ``.ci/run`` does, pre-commit has the lock's versions, issue forms ask for a bundle."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit import ROOT

_FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
_STAGES = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def _loaded(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


@cache
def _jobs() -> dict[str, Any]:
    jobs: dict[str, Any] = _loaded(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    return jobs


def _commands(job: str) -> list[str]:
    return [step["run"] for step in _jobs()[job]["steps"] if "run" in step]


def _readme_line() -> str:
    found = re.search(r"<!-- tests -->\n```sh\n(.*)\n```", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert found
    return found[1]


def test_lint_and_types_are_the_stage_of_the_local_run() -> None:
    (stage,) = re.findall(r"^pairs <<'END'\n(.*?)^END$", _STAGES, re.MULTILINE | re.DOTALL)
    local = [line.partition(" #")[0] for line in stage.splitlines() if line.startswith(".venv/bin/")]
    assert len(local) >= 5
    assert _commands("lint")[1:] == local


@pytest.mark.parametrize(("commands", "status"), [("true # x\necho said", 0), ("false\necho said", 123)])
def test_one_of_the_commands_side_by_side_that_fails_is_enough(commands: str, status: int) -> None:
    (line,) = re.findall(r"^ +(nice xargs .*)$", _STAGES, re.MULTILINE)
    done = subprocess.run(["bash", "-c", line], input=commands, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert "-- echo said\nsaid\n" in done.stdout


@pytest.mark.parametrize("job", ["lint", "tests", "readers"])
def test_a_job_installs_what_the_readme_installs(job: str) -> None:
    install, pytest_call = _readme_line().rsplit(" && ", 1)
    assert install in _commands(job)
    assert pytest_call == ".venv/bin/pytest"


def test_the_shards_together_are_the_whole_suite() -> None:
    assert _commands("tests")[-1] == ".venv/bin/pytest ${{ matrix.rooms }}"
    named = " ".join(_jobs()["tests"]["strategy"]["matrix"]["rooms"]).split()
    on_disk = {path.relative_to(ROOT).parts[1] for path in (ROOT / "tests").rglob("test_*.py")}
    assert sorted(named) == sorted(f"tests/{room}" for room in on_disk)


def test_programs_and_stages_are_those_of_the_local_run() -> None:
    programs = re.search(r'programs="([^"$]+)"', _STAGES)
    assert programs
    for job in ("tests", "readers"):
        (install,) = [one for one in _commands(job) if "apt-get" in one]
        assert install.split("--no-install-recommends ")[1] == programs[1]
    assert _commands("readers")[-1] in _STAGES


def test_each_part_of_the_heavy_stage_is_run_each_night_and_all_that_is_marked_so_is_in_one() -> None:
    assert _commands("nightly") == ["CI_PART=${{ matrix.part }} .ci/run"]
    parts = re.search(r'^parts="(.*)"$', _STAGES, re.MULTILINE)
    assert parts
    assert _jobs()["nightly"]["strategy"]["matrix"]["part"] == parts[1].split()
    assert re.findall(r"^heavy_(\w+)\(\)", _STAGES, re.MULTILINE) == parts[1].split()
    # Rooms of their own, readers, and all but these; no reader is in such a room.
    calls = re.findall(r"^heavy_(\w+)\(\) \{ \.venv/bin/pytest -m (heavy|'[\w ]+') ?(.*); \}$", _STAGES, re.MULTILINE)
    own = [words for name, mark, words in calls if mark == "heavy"]
    assert own and all((ROOT / words).is_dir() for words in own)
    assert [(name, mark, words) for name, mark, words in calls if mark != "heavy"] == [
        ("readers", "'heavy and reader'", "--dist loadfile"),
        ("rooms", "'heavy and not reader'", " ".join(f"--ignore={words}" for words in own)),
    ]
    inside = [path for words in own for path in (ROOT / words).rglob("*.py")]
    assert inside and not [path for path in inside if "mark.reader" in path.read_text(encoding="utf-8")]


def test_a_part_that_is_not_there_is_refused_and_one_that_fails_takes_no_other_with_it() -> None:
    run = ["bash", str(ROOT / ".ci" / "run")]
    done = subprocess.run(run, env={**os.environ, "CI_PART": "sick none"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "ci: CI_PART is one or several of: ranks sick readers rooms repeats\n")
    (run_parts,) = re.findall(r"^heavy\(\) \{.*?^\}$", _STAGES, re.MULTILINE | re.DOTALL)
    made = "set -euo pipefail\nend_beside() { :; }\nheavy_one() { false; echo no; }\nheavy_two() { echo yes; }\n"
    done = subprocess.run(
        ["bash", "-c", f"{made}{run_parts}\nheavy one two\necho passed"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "ci: failed: heavy stage, one\n")
    assert "\nyes\n" in done.stdout and "no\n" not in done.stdout and "passed" not in done.stdout


def test_the_stage_of_readers_looks_where_they_are() -> None:
    marked = [path for path in (ROOT / "tests").rglob("test_*.py") if "mark.reader" in path.read_text(encoding="utf-8")]
    assert {path.relative_to(ROOT).parts[1] for path in marked} - {"project"} == {"fleet", "repair", "tools", "train"}
    assert _commands("readers")[-1].endswith(" tests/fleet tests/repair tests/tools tests/train")


def test_the_wheel_is_tried_on_every_python_that_is_supported() -> None:
    versions = _jobs()["wheel"]["strategy"]["matrix"]["python"]
    floor = re.search(r'requires-python = ">=3\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert floor
    assert versions == [f"3.{minor}" for minor in range(int(floor[1]), 15)]


def test_nothing_of_the_workflow_may_write() -> None:
    assert _loaded(ROOT / ".github" / "workflows" / "ci.yml")["permissions"] == {"contents": "read"}


def test_a_release_is_built_and_tried_before_the_job_that_may_write() -> None:
    loaded = _loaded(ROOT / ".github" / "workflows" / "release.yml")
    assert loaded["permissions"] == {"contents": "read"}
    jobs = loaded["jobs"]
    assert "permissions" not in jobs["build"] and jobs["publish"]["needs"] == "build"
    commands = [line.strip() for step in jobs["build"]["steps"] for line in step.get("run", "").splitlines()]
    assert _readme_line().rsplit(" && ", 1)[0] in commands
    for module in re.findall(r"-m (tools[\w.]+)", "\n".join(commands)):
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), module
    # As the test of packages has them.
    judged = (ROOT / "tests" / "tools" / "test_packaging.py").read_text(encoding="utf-8")
    for program in ("lintian", "rpmlint"):
        (line,) = [one for one in commands if one.startswith(program)]
        assert f'"{program}"' in judged and line.endswith((".deb", ".rpm"))
    assert not any("run" in step and "tools" in step["run"] for step in jobs["publish"]["steps"])


def test_pre_commit_has_the_versions_of_the_lock_and_takes_all_files_that_are_there() -> None:
    repos = {one["repo"].rsplit("/", 1)[1]: one for one in _loaded(ROOT / ".pre-commit-config.yaml")["repos"]}
    locked = re.search(r"^ruff==(\S+)$", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE)
    assert locked
    assert repos["ruff-pre-commit"]["rev"] == f"v{locked[1]}"
    assert [one["id"] for one in repos["ruff-pre-commit"]["hooks"]] == ["ruff-check", "ruff-format"]
    (guard,) = repos["pre-commit-hooks"]["hooks"]
    assert guard["exclude"] == "^fixtures/"
    most = int(guard["args"][0].removeprefix("--maxkb=")) * 1024
    for folder in ("checks", "docs", "profiles", "rocdoctor", "tests", "tools"):
        for path in (ROOT / folder).rglob("*"):
            assert not path.is_file() or "__pycache__" in path.parts or path.stat().st_size <= most, path


@pytest.mark.parametrize("path", _FORMS, ids=lambda path: path.stem)
def test_an_issue_form_asks_for_a_bundle_that_was_read(path: Path) -> None:
    form = _loaded(path)
    assert form["name"] and form["description"]
    fields = [one for one in form["body"] if one["type"] != "markdown"]
    assert len({one["id"] for one in fields}) == len(fields)
    assert all(one["attributes"]["label"] for one in fields)
    text = path.read_text(encoding="utf-8")
    assert "`rocdoctor bundle`" in text and "`rocdoctor bundle --show`" in text and "read it before you" in text
