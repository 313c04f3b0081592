"""The gate: words are quoted or refused, and every template of ours is typed into a shell with hostile words."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.model.shell_command import ShellCommand, fits, reworded, shell
from tests.shell_box import HOSTILE, MARK, ShellBox, needs_bash
from tests.templates import templates, words_of

_WORDS = {
    "": "render",
    "name": "NCCL_DEBUG",
    "module": "nvidia-uvm",
    "number": "2.13",
    "numbers": "1,2",
    "pci": "0000:03:00.0",
    "address": "fe80::1",
    "interface": "enp5s0f0np0",
    "interfaces": "lo,docker0",
    "host": "gpu-07.cluster",
    "group": "render",
    "groups": "render,video",
    "package": "linux-headers-6.8",
    "library": "libcudart",
    "path": "/home/zoë x/a.so",
    "glob": "/dev/dri/*",
    "option": "--json",
}


def test_a_word_is_quoted() -> None:
    made = shell("sudo usermod -aG {groups} $USER", groups="render;touch x")
    assert made == "sudo usermod -aG 'render;touch x' $USER"
    assert isinstance(made, ShellCommand)
    assert shell("ls {file:path}", file="/a b") == "ls '/a b'"
    assert shell("ls {file:path}", file="~/a b") == "ls ~/'a b'"
    assert shell("ls -d {files:glob}", files="/dev/dri/card*") == "ls -d /dev/dri/card*"
    assert shell("ls -d {files:glob}", files="/dev/d ri/*") == "ls -d '/dev/d ri/*'"
    assert shell("pip uninstall {names:package}", names=["triton", "triton-rocm"]) == "pip uninstall triton triton-rocm"
    assert shell("kill {pid}", pid=12) == "kill 12"
    assert shell("docker{gpus} run", gpus=ShellCommand(" --gpus 'all'")) == "docker --gpus 'all' run"
    assert shell("echo {{{a}}}", a="b") == "echo {b}"


@pytest.mark.parametrize(
    "word",
    ["", "-rf", "a\nb", "a\x00", "\x1b[2J", "\u202ea", "\u3164", "`id`", "host-1", "user-2", "<x>", "masked-value"],
)
def test_a_word_that_is_of_no_use_is_left_to_the_person(word: str) -> None:
    assert shell("newgrp {group}", group=word) == "newgrp GROUP"


@pytest.mark.parametrize("word", ["~", "~root/x", "-x", "/home/user-1/x", ""])
def test_a_path_that_is_of_no_use_is_left_to_the_person(word: str) -> None:
    assert shell("cat {file:path}", file=word) == "cat FILE"


@pytest.mark.parametrize(("value", "shown"), [(-1, "N"), ([], "N"), (["a", "-b"], "N")])
def test_so_are_numbers_and_lists(value: Any, shown: str) -> None:
    assert shell("x {n}", n=value) == f"x {shown}"


@pytest.mark.parametrize(
    "template",
    [
        "sh -c 'cat {file}'",
        'sh -c "cat {file:path}"',
        "cat \\{file}",
        "cat {file!r}",
        "cat {}",
        "cat {a:what}",
        "a {b.c}",
    ],
)
def test_a_template_that_protects_no_word_is_an_error(template: Any) -> None:
    with pytest.raises((ValueError, IndexError)):
        shell(template, file="x", a="x", b="x")


def test_a_part_of_a_command_goes_into_no_quotes() -> None:
    with pytest.raises(ValueError, match="within quotes"):
        shell("sh -c 'cat {file:name}'", file=ShellCommand("a b"))


@given(st.text() | st.sampled_from(HOSTILE), st.sampled_from(sorted(_WORDS)))
def test_a_word_is_one_word_or_its_name(word: str, kind: str) -> None:
    template: Any = "a {word:" + kind + "}" if kind else "a {word}"
    made = shell(template, word=word)
    assert shlex.split(made, comments=True) == ["a", word if fits(word, kind) else "WORD"]
    assert "\n" not in made


@given(st.text() | st.sampled_from(HOSTILE), st.sampled_from(sorted({*_WORDS} - {"", "path", "glob", "option"})))
def test_what_may_stand_within_quotes_ends_none(word: str, kind: str) -> None:
    template: Any = 'a "{word:' + kind + "}\" '{word:" + kind + "}'"
    shown = word if fits(word, kind) else "WORD"
    assert shell(template, word=word) == f"a \"{shown}\" '{shown}'"
    assert not re.search(r"[\s\"'$`\\!;&|<>()#]", shown)


@pytest.mark.parametrize("kind", _WORDS)
def test_what_is_usual_passes(kind: str) -> None:
    assert fits(_WORDS[kind], kind)


def test_every_template_can_be_filled() -> None:
    assert len(templates()) > 80
    for template in templates():
        made = shell(template, **{name: _WORDS[kind] for name, kind in words_of(template)})
        assert "{" not in made.replace("${", ""), made
        # The words of these builtins are evaluated: unset 'a[$(command)]' runs it, however it is quoted.
        assert not re.search(r"\b(?:unset|printf -v|read|declare|let|test -v) (?:\{\w+\})", template), template


@needs_bash
def test_no_template_runs_a_word(tmp_path: Path) -> None:
    """All of our commands with every hostile word in each of their places, typed into a shell."""
    cases: dict[str, str] = {}
    for template in templates():
        named = words_of(template)
        for hostile in HOSTILE:
            made = shell(template, **dict.fromkeys((name for name, _ in named), hostile))
            # Where the program itself is a word, or there is none (settings of the kernel), it is typed as words.
            program = template.split()[0]
            cases[made if "{" not in program and not program.startswith("-") else f"grep -- {made}"] = hostile
    for ran in ShellBox(tmp_path).run(cases):
        for call in ran.calls:
            for word in call:
                assert MARK not in word or cases[ran.command] in word, f"{ran.command} cuts a word: {call}"


def test_a_masked_word_never_changes_how_a_shell_reads_a_command() -> None:
    kept = shell("ls -l {path:path}", path="/home/ada/x y")
    assert reworded(kept, kept.replace("ada", "user-1")) == "ls -l '/home/user-1/x y'"
    assert isinstance(reworded(kept, kept), ShellCommand)
    for changed in ("ls -l '/home/user-1", "ls -l masked-value y'", "ls -l '/home/user-1'/x y'", "ls -l <dropped>"):
        assert reworded(kept, changed) == ""
