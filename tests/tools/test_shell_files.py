"""Completion and the manual page: made from the arguments, and taken by the shells that are here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from rocdoctor.cli.commands import COMMANDS
from tools import shell_files

_ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_shtab_rocdoctor rocdoctor "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def files() -> Mapping[str, str]:
    return dict(shell_files.files())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("smo",), "smoke"),
        (("check", "gpu-without-dri"), "gpu-without-driver"),
        (("check", "--skip", "gpu-without-dri"), "gpu-without-driver"),
        (("explain", "gpu-without-dri"), "gpu-without-driver"),
        (("check", "--format", "mark"), "markdown"),
        (("check", "--includ"), "--include-identity"),
        (("emit", "torcht"), "torchtitan"),
        (("recommend", "--model", "llama-3.1-8"), "llama-3.1-8b"),
        (("smoke", "fsdp2-off"), "fsdp2-offload"),
    ],
)
def test_bash_completes(files: Mapping[str, str], tmp_path: Path, words: tuple[str, ...], offered: str) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    path = tmp_path / "rocdoctor"
    path.write_text(files["bash-completion/completions/rocdoctor"])
    said = subprocess.run([bash, "-c", _ASK, "bash", str(path), "rocdoctor", *words], capture_output=True, text=True)
    assert offered in said.stdout.split()
    assert said.stderr == ""


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_theirs(files: Mapping[str, str], tmp_path: Path, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    (path,) = (place for place in files if shell in place)
    script = tmp_path / "script"
    script.write_text(files[path])
    subprocess.run([program, "-n", str(script)], check=True)


def test_every_command_and_option_is_in_the_manual_and_the_completions(files: Mapping[str, str]) -> None:
    manual = files["man/man1/rocdoctor.1"].replace("\\-", "-")
    for name, line in COMMANDS.items():
        assert line.help.split(":")[0][:40] in manual, name
        for place, text in files.items():
            assert name in text, (name, place)
    for option in ("--import-torch", "--include-identity", "--nproc-per-node"):
        assert option in manual
        assert all(option.lstrip("-") in text for place, text in files.items() if "man" not in place), option
    assert "==SUPPRESS==" not in "".join(files.values())
