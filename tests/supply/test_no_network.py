"""No command reaches a network: nothing is sent anywhere, and nothing is looked up."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rocdoctor.cli.commands import COMMANDS
from tests.kit import ROOT

_FIXTURE = str(ROOT / "fixtures" / "rx7900xtx-2gpu.capture")
_OTHER = str(ROOT / "fixtures" / "rx9070xt.capture")
_FOLDER = tempfile.TemporaryDirectory(prefix="rocdoctor-test-")
_COMMANDS = {
    "help": ["--help"],
    "list": ["list"],
    "explain": ["explain", "gpu-without-driver"],
    "check": ["check", "--timeout", "20"],
    "facts": ["facts", "--json", "--timeout", "20"],
    "setup": ["setup", "--timeout", "20"],
    "fix": ["fix", "--timeout", "20"],
    "bundle": ["bundle", "-o", "-", "--timeout", "20"],
    "recommend": ["recommend", "--model", "smollm2-135m", "--method", "lora", "--timeout", "20"],
    "emit": ["emit", "slurm", "--gpus", "8xMI300X", "--model", "llama-3.1-8b"],
    "estimate": ["estimate", "-"],
    "read": ["read", "-"],
    "lint": ["lint", "README.md"],
    "replay": ["check", "--from", _FIXTURE],
    "diff": ["diff", _FIXTURE, _OTHER],
    "record": ["record", "--out", "-", "--timeout", "20"],
    "fleet": ["fleet", "tick", f"{_FOLDER.name}/fleet"],
    "gate": ["gate", "--record", "none.json"],
}
_SPEC = '{"model": "llama-3.2-1b", "gpu": "MI300X", "seq": 2048, "gpus": 1}'


def _run(arguments: list[str], noted: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent / "watched"), "NO_COLOR": "1"}
    environment["ROCDOCTOR_TEST_NETWORK"] = str(noted)
    return subprocess.run(
        arguments, input=_SPEC, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=240, check=False
    )


@pytest.mark.live
@pytest.mark.parametrize("name", _COMMANDS)
def test_no_command_reaches_a_network(name: str, tmp_path: Path) -> None:
    noted = tmp_path / "network"
    done = _run([sys.executable, "-m", "rocdoctor", *_COMMANDS[name]], noted)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout
    assert not noted.exists(), noted.read_text()


def test_every_command_is_watched() -> None:
    watched = {words[0] for words in _COMMANDS.values()}
    assert set(COMMANDS) - watched == {"smoke", "tui"}, "one connects its ranks, the other needs a terminal"


def test_the_watch_sees_a_child_that_reaches_out(tmp_path: Path) -> None:
    noted = tmp_path / "network"
    child = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('127.0.0.1', 9))"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    assert _run([sys.executable, "-c", program], noted).returncode == 0
    assert "socket.connect" in noted.read_text()


def test_no_module_imports_a_library_that_fetches() -> None:
    banned = {"urllib.request", "http.client", "requests", "ftplib", "smtplib", "httpx", "aiohttp", "xmlrpc"}
    for path in (*(ROOT / "rocdoctor").glob("**/*.py"), *(ROOT / "checks").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            assert not banned & set(names), path
