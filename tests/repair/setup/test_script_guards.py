"""What tells a script that a command was run, and how words are typed."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from rocdoctor.repair.setup.command_lines import broken, commands, is_ready, quoted, tokens_of
from rocdoctor.repair.setup.plan import Action
from rocdoctor.repair.setup.script_guards import done_test, is_neutral, is_rebuild, is_refresh, unattended

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="no bash here")


@pytest.mark.parametrize("word", ["a b", "it's", "$HOMEX $PATH `id`", 'q"q\\', "x!y$z", "", "é", "-n", "{a}*?"])
@needs_bash
def test_quoted_words_come_back(word: str) -> None:
    assert BASH is not None
    done = subprocess.run(
        [BASH, "-c", f"printf '%s' {quoted(word)}"], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert done.stdout == word


def test_user_and_home_are_left_to_the_shell() -> None:
    assert quoted("$USER") == '"$USER"'
    assert quoted("~/x y") == '"$HOME/x y"'
    assert quoted("a~/b") == "'a~/b'"
    assert quoted("$HOME/$PATH") == '"$HOME/\\$PATH"'


def test_long_commands_are_broken_between_words() -> None:
    (tokens,) = commands(Action(("apt", "install", "one", "two", "three"), root=True), sudo=True)
    lines = broken(tokens, 20, "  ", "    ")
    assert max(map(len, lines)) <= 20
    assert " ".join(line.removesuffix("\\").strip() for line in lines) == "sudo apt install one two three"
    assert all(line.endswith(" \\") for line in lines[:-1])


@pytest.mark.parametrize(
    ("command", "tokens"),
    [
        ("a 'b c' | d", ("a", "'b c'", "|", "d")),
        ('a "b  c"; d', ("a", '"b  c";', "d")),
        (
            "docker run --group-add $(getent group render | cut -d: -f3) x",
            ("docker", "run", "--group-add", "$(getent group render | cut -d: -f3)", "x"),
        ),
        ("a  b\nc ", ("a", "b", "c")),
        ("", ()),
        ("'a b", ("'a b",)),
        (") a", (")", "a")),
    ],
)
def test_a_written_command_is_cut_where_a_backslash_may_stand(command: str, tokens: tuple[str, ...]) -> None:
    assert tokens_of(command) == tokens


def test_what_is_left_to_fill_in_is_not_run() -> None:
    assert is_ready(Action(("apt", "install", "x")))
    assert not is_ready(Action(("apt", "install", "{rocm_packages}")))
    assert not is_ready(Action(("docker", "run", "...")))
    assert not is_ready(Action(("usermod", "-aG", "render", "<user>")))


@pytest.mark.parametrize(
    ("words", "test"),
    [
        ("apt install a b", "has_deb a b"),
        ("dnf -y install a", "has_rpm a"),
        ("pacman -Syu a", "has_pacman a"),
        ("dnf install https://repo.example.org/a.rpm", ""),
        ("apt purge a", ""),
        ("modprobe amd-x", "test -d /sys/module/amd_x"),
        ("usermod -aG render alice", "may_enter alice render"),
        ("usermod -G render alice", ""),
        ("rm -f /a /b", "test ! -e /a && test ! -e /b"),
        ("sysctl -w kernel.x=0", 'test "$(sysctl -n kernel.x 2>/dev/null)" = 0'),
        ("systemctl enable --now a", "systemctl is-enabled --quiet a 2>/dev/null && systemctl is-active --quiet a"),
        ("env A=1 apt install a", "has_deb a"),
        ("update-grub", ""),
        ("sed -i s/a/b/ /f /g", "sed_is_done s/a/b/ /f /g"),
        ("sed s/a/b/ /f /g", ""),
        ("python3 -m venv ~/e", '"$HOME/e/bin/python" -m pip --version >/dev/null 2>&1'),
        ("python -m pip install torch==2.1 --index-url https://h/rocm7.2", "has_wheels python torch==2.1+rocm7.2"),
        ("python -m pip install a==2.1 --index-url https://h/whl/cpu", "has_wheels python 'a==2.1|2.1+cpu'"),
        ("python -m pip install torch==2.1+cu128 --no-deps", "has_wheels python torch==2.1+cu128"),
        ("python -m pip install torch==2.1+cpu --index-url https://h/cpu", "has_wheels python torch==2.1+cpu"),
        ("python -m pip install torch==2.1 --index-url https://h/simple", "has_wheels python torch==2.1"),
        ("python -m pip install torch", ""),
        ("python -m pip install numpy<2", ""),
        ("python -m pip install torch==2.1 --pre", ""),
        ("python -m pip uninstall -y torch", ""),
    ],
)
def test_what_tells_that_a_command_was_run(words: str, test: str) -> None:
    assert done_test(Action(tuple(words.split()))) == test


@pytest.mark.parametrize(
    ("words", "asks_nothing"),
    [
        ("apt install a", "env DEBIAN_FRONTEND=noninteractive apt-get -y install a"),
        ("apt update", "apt-get update"),
        ("dnf install a", "dnf -y install a"),
        ("dnf -y install a", "dnf -y install a"),
        ("zypper install a", "zypper --non-interactive install a"),
        ("pacman -S a", "pacman --noconfirm -S a"),
        ("pip install a", "pip install a"),
    ],
)
def test_package_managers_are_told_to_ask_nothing(words: str, asks_nothing: str) -> None:
    assert " ".join(unattended(tuple(words.split()))) == asks_nothing


def test_refreshing_is_no_installation() -> None:
    assert is_refresh(Action(("apt", "update")))
    assert not is_refresh(Action(("apt", "install", "update")))


@pytest.mark.parametrize(
    ("words", "neutral", "rebuild"),
    [
        ("install -d /x", True, False),
        ("update-grub", True, True),
        ("dnf clean all", True, False),
        ("dnf install https://h/epel.rpm", True, False),
        ("dnf install epel-release", False, False),
        ("python -m pip uninstall -y torch", True, False),
        ("python -m pip install torch", False, False),
        ("dkms autoinstall", False, False),
        ("systemctl restart docker", True, False),
        ("ubuntu-drivers install", False, False),
    ],
)
def test_what_proves_nothing_of_its_step(words: str, neutral: bool, rebuild: bool) -> None:
    action = Action(tuple(words.split()))
    assert (is_neutral(action), is_rebuild(action)) == (neutral, rebuild)
