"""What the pages of the site show is so: every command is run here or by the test that is named here."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocdoctor.cli.arguments import options_of
from rocdoctor.cli.commands import COMMANDS, command
from rocdoctor.cli.main import run
from rocdoctor.host.live import programs
from rocdoctor.knowledge.software.env_variables import env_variable
from tests.kit import ROOT
from tests.project.site_pages import FIRST_PAGES, PAGES, Shown, commands_of, prose
from tests.run_kit import BARRIER, dump, entry

_FIXTURES = ROOT / "fixtures"
_SHOWN = [one for page in PAGES for one in commands_of(page)]
# They ask this machine: here, that of the page.
_ASKING = {"check", "facts", "lint", "setup", "fix", "smoke", "recommend", "emit", "bundle", "record"}
_OURS = re.compile(r"(^| )rocdoctor( |$)")
_ISSUE = """\
I ran pip install torch and my Radeon RX 7900 XTX on Ubuntu 24.04 does nothing.
>>> torch.cuda.is_available()
False
torch 2.13.0+cu130
"""
# The plan of somebody else, to be compared with ours.
_SPEC = "model: llama-3-70b\ngpu: MI300X\ngpus: 8\nseq: 4096\nmicro_batch: 1\nparallel: {fsdp: 8}\n"
_KERNEL_LOG = b"""\
[    0.000000] Linux version 6.14.0-29-generic (build@host) (gcc 13.3.0) #29~24.04.1-Ubuntu SMP
[    3.112233] [drm] amdgpu kernel modesetting enabled.
[    3.223344] amdgpu 0000:03:00.0: amdgpu: Fetched VBIOS from VFCT
"""
# Other commands: what they begin with, and the file that runs them, with words that show it.
_ELSEWHERE = {
    "python3 -m venv .venv && .venv/bin/pip install -q": (".ci/run", "bash -euo pipefail -c"),
    ".venv/bin/python -m tools.pyz.build": ("tests/tools/test_pyz.py", "build.write("),
    ".venv/bin/python -m tools.packaging.build": ("tests/tools/test_packaging.py", "build.KINDS[kind]("),
    "python3 rocdoctor.pyz check": ("tests/tools/test_pyz.py", '"check", "--from"'),
    ".venv/bin/python tools/new.py": ("tests/tools/test_new.py", "new.py"),
    ".venv/bin/python -m tools.vendor_tables": ("tests/tools/test_vendor_tables.py", "vendor_tables"),
    ".venv/bin/python -m tools.docs": ("tests/tools/test_docs_pages.py", "command.main("),
    "python tools/fleet_world.py": ("tests/tools/test_fleet_world.py", "write(world"),
    "sh world/ticks.sh": ("tests/tools/test_fleet_world.py", '"ticks.sh"'),
    ".venv/bin/pytest": (".ci/run", ".venv/bin/pytest"),
    ".venv/bin/ruff check": (".ci/run", ".venv/bin/ruff check ."),
    ".venv/bin/mypy && .venv/bin/pyright": (".ci/run", ".venv/bin/mypy"),
}
# What only a live machine, or several, can answer: the options are read here, and the file named runs such ones.
_LIVE = {
    "--nnodes": "tests/train/smoke/nodes/test_slurm.py",
    "--with-smoke": "tests/host/live/test_as_root.py",
    "--plan": "tests/cli/commands/test_smoke_plan.py",
    "net": "tests/fleet/test_real_net.py",
    "show": "tests/cli/commands/test_fleet.py",
}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files that the pages name."""
    for name in ("BUNDLE", "bundle.txt", "node2.txt"):
        shutil.copy(_FIXTURES / "faulty" / "mi300x-8gpu-tired.capture", tmp_path / name)
    for name in ("before.txt", "node1.txt", "node3.txt"):
        shutil.copy(_FIXTURES / "mi300x-8gpu.capture", tmp_path / name)
    (tmp_path / "issue.txt").write_text(_ISSUE)
    (tmp_path / "train.sh").write_text("export HSA_OVERRIDE_GFX_VERSION=10.3.0\ntorchrun train.py\n")
    (tmp_path / "mine.yaml").write_text(_SPEC)
    (tmp_path / "net.json").write_text('{"schema": "rocdoctor.net/1", "taken_at": 1, "nodes": []}')
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "all.log").write_text(BARRIER)
    (tmp_path / "dumps").mkdir()
    for rank, last in ((0, [entry(3, state="started")]), (1, [])):
        recorded = json.dumps(dump([entry(1), entry(2), *last]))
        (tmp_path / "dumps" / f"nccl_trace_rank_{rank}.json").write_text(recorded)
    (tmp_path / "bin").mkdir()
    _program(tmp_path, "sinfo", "echo 'gpu07|idle|gpu:8|none'")
    _program(tmp_path, "clush", "exit 0")  # tests/fleet/test_fetching.py has the real one
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    programs._directories.cache_clear()  # an earlier test may have looked at the PATH of the machine
    yield tmp_path
    programs._directories.cache_clear()


def _program(desk: Path, name: str, does: str) -> None:
    """One that stands in for a program that would ask other machines."""
    (desk / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
    (desk / "bin" / name).chmod(0o755)


def _words(shown: Shown, desk: Path) -> list[str]:
    """The words after ``rocdoctor``, on the machine of the page and below the folder of this test."""
    here = re.sub(r"/(shared|root)/", rf"{desk}/\1/", shown.command)
    words = shlex.split(here, comments=True)
    words = words[words.index("rocdoctor") + 1 :]
    name = words[0] if words and words[0] in COMMANDS else ""
    if "--from" in words or (name and name not in _ASKING):
        return words
    if name == "lint":
        return [*words, "--no-machine"]
    machine = ["--from", str(_FIXTURES / f"{shown.machine}.capture")]
    return [*words[:1], *machine, *words[1:], *(["--node", "gpu07"] if name == "record" else [])]


def _trouble(
    shown: Shown, desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str | None:
    """What is wrong with a command that rocdoctor itself answers."""
    before, _, after = shown.command.partition("rocdoctor")
    for option, home in _LIVE.items():
        if option in after.split():
            assert option in (ROOT / home).read_text(encoding="utf-8"), home
            name, *words = shlex.split(after.partition(" > ")[0], comments=True)
            options_of(name, command(name), words)
            return None
    if "dmesg" in before:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(_KERNEL_LOG)))
    status = run(_words(shown, desk))
    said = capsys.readouterr()
    if status not in (0, 1):
        return f"exit status {status}: {said.err}"
    missing = [line for line in shown.says if " ".join(line.split()) not in " ".join(said.out.split())]
    return f"does not print {missing}, but {said.out[:600]}" if missing else None


def test_every_command_of_the_site_runs_and_prints_what_the_page_says(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that ask this machine about a process have a test of their own below."""
    ours = [one for one in _SHOWN if _OURS.search(one.command) and "--pid" not in one.command]
    assert len(ours) > 50
    found = {str(one): _trouble(one, desk, monkeypatch, capsys) for one in ours}
    assert {shown: trouble for shown, trouble in found.items() if trouble} == {}


def test_other_commands_of_the_site_are_run_by_the_tests_that_are_named() -> None:
    wrong = []
    for shown in _SHOWN:
        if _OURS.search(shown.command):
            continue
        if setting := re.match(r"export (\w+)=", shown.command):
            if (known := env_variable(setting[1])) is None or known.status != "current":
                wrong.append(str(shown))
            continue
        homes = [home for begin, home in _ELSEWHERE.items() if shown.command.startswith(begin)]
        if not homes or not all(words in (ROOT / name).read_text(encoding="utf-8") for name, words in homes):
            wrong.append(str(shown))
    assert wrong == []


@pytest.mark.live
def test_a_job_is_asked_about_as_the_page_says() -> None:
    asked = [shown for shown in _SHOWN if "--pid" in shown.command]
    assert asked
    job = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        for shown in asked:
            words = [str(job.pid) if one.isdigit() else one for one in shlex.split(shown.command)[1:]]
            program = [sys.executable, "-m", "rocdoctor", *words]
            done = subprocess.run(program, capture_output=True, text=True, timeout=120)
            assert done.returncode in (0, 1), f"{shown}: {done.stderr}"
            assert str(job.pid) in done.stdout, str(shown)
    finally:
        job.kill()
        job.communicate()


def test_commands_within_a_sentence_have_options_that_exist() -> None:
    wrong = []
    for page in PAGES:
        text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for inline in re.findall(r"`rocdoctor ([a-z]+)((?: [^`]*)?)`", text):
            name, rest = inline
            if name == "capture":  # the first line of a bundle
                continue
            if name not in COMMANDS:
                wrong.append(f"{page.name}: rocdoctor {name}")
                continue
            wrong += [
                f"{page.name}: rocdoctor {name} {option}"
                for option in re.findall(r"(?<!\S)--[a-z][a-z-]+", rest)
                if option not in _options(name)
            ]
    assert wrong == []


def _options(name: str) -> set[str]:
    parser = ArgumentParser()
    command(name).arguments(parser)
    return set(re.findall(r"--[a-z][a-z-]+", parser.format_help()))


@pytest.mark.parametrize("page", FIRST_PAGES, ids=[page.stem for page in FIRST_PAGES])
def test_sentences_are_short(page: Path) -> None:
    for sentence in re.split(r"(?<=[.!?:])\s+|\n\s*\n|\n(?=\s*- )", prose(page)):
        assert len(sentence.split()) <= 25, sentence
