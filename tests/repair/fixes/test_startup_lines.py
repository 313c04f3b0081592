"""Which lines of start-up files set a variable, and switching them off."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from rocdoctor.repair.fixes.startup_lines import Kind, Places, by_hand, off_already, places, switched_off

_NAME, _VALUE = "HSA_OVERRIDE_GFX_VERSION", "10.3.0"


@pytest.mark.parametrize(
    ("text", "plain", "mixed"),
    [
        ("export HSA_OVERRIDE_GFX_VERSION=10.3.0\n", (1,), ()),
        ("export HSA_OVERRIDE_GFX_VERSION=10.3.0", (1,), ()),
        ("\texport HSA_OVERRIDE_GFX_VERSION='10.3.0'  # why\r\n", (1,), ()),
        ('x=1\nexport HSA_OVERRIDE_GFX_VERSION="10.3.0"\n', (2,), ()),
        ("HSA_OVERRIDE_GFX_VERSION=10.3.0\nexport HSA_OVERRIDE_GFX_VERSION\n", (1,), ()),
        ("if true; then\n  export HSA_OVERRIDE_GFX_VERSION=10.3.0\nfi\n", (2,), ()),
        ("f() {\n  export HSA_OVERRIDE_GFX_VERSION=10.3.0\n}\n", (2,), ()),
        ("export HSA_OVERRIDE_GFX_VERSION=10.3.0\n" * 2, (1, 2), ()),
        # Another value, another name, a comment, a text, one command alone: none of them sets it here.
        ("export HSA_OVERRIDE_GFX_VERSION=11.0.0\n", (), ()),
        ("export HSA_OVERRIDE_GFX_VERSION_1=10.3.0\n", (), ()),
        ("# export HSA_OVERRIDE_GFX_VERSION=10.3.0\n", (), ()),
        ("cat <<E\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\nE\n", (), ()),
        ("x='\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\n'\n", (), ()),
        ("HSA_OVERRIDE_GFX_VERSION=10.3.0\n", (), ()),
        # It does, with other things on the line.
        ("export A=1 HSA_OVERRIDE_GFX_VERSION=10.3.0\n", (), (1,)),
        ("export HSA_OVERRIDE_GFX_VERSION=10.3.0; export A=1\n", (), (1,)),
        ("test -d /x && export HSA_OVERRIDE_GFX_VERSION=10.3.0\n", (), (1,)),
        ("true && \\\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\n", (), (2,)),
        ("export HSA_OVERRIDE_GFX_VERSION=10.3.0 \\\n  A=1\n", (), (1,)),
    ],
)
def test_shell_text(text: str, plain: tuple[int, ...], mixed: tuple[int, ...]) -> None:
    assert places(text, "shell", _NAME, _VALUE) == Places(plain, mixed)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("HSA_OVERRIDE_GFX_VERSION=10.3.0\n", (1,)),
        ('A=1\nHSA_OVERRIDE_GFX_VERSION="10.3.0"\n', (2,)),
        ("export HSA_OVERRIDE_GFX_VERSION=10.3.0\n", (1,)),
        ("#HSA_OVERRIDE_GFX_VERSION=10.3.0\n", ()),
        ("HSA_OVERRIDE_GFX_VERSION=10.3.0 # x\n", ()),
        ("XHSA_OVERRIDE_GFX_VERSION=10.3.0\n", ()),
    ],
)
def test_lists_of_variables(text: str, plain: tuple[int, ...]) -> None:
    assert places(text, "env", _NAME, _VALUE) == Places(plain, ())


def test_a_value_is_never_a_pattern() -> None:
    assert places("export A=x.y\n", "shell", "A", "x.y").plain == (1,)
    assert places("export A=x.y\n", "shell", "A", "x.*").plain == ()
    assert places("A.=1\nAB=1\n", "env", "A.", "1").plain == ()


@pytest.mark.parametrize("kind", ["shell", "env"])
def test_only_these_lines_change(kind: Kind) -> None:
    text = "a\r\n  export HSA=1  # \xe9\r\n\n\x85z\x0c\nexport HSA=1"
    made = switched_off(text, kind, (2, 5), "some-check")
    front = ": # " if kind == "shell" else "# "
    assert made == (
        f"a\r\n  {front}off by rocdoctor fix (some-check): export HSA=1  # \xe9\r\n\n\x85z\x0c\n"
        f"{front}off by rocdoctor fix (some-check): export HSA=1"
    )


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    "text",
    [
        'if true; then\n  export {}\nfi\necho "${{HSA_OVERRIDE_GFX_VERSION-gone}}"\n',
        'f() {{\n  export {}\n}}\nf\necho "${{HSA_OVERRIDE_GFX_VERSION-gone}}"\n',
        'true &&\nexport {}\necho "${{HSA_OVERRIDE_GFX_VERSION-gone}}"\n',
        'for x in 1 2; do\nexport {}\ndone\necho "${{HSA_OVERRIDE_GFX_VERSION-gone}}"\n',
        "{}\nexport HSA_OVERRIDE_GFX_VERSION\nprintenv HSA_OVERRIDE_GFX_VERSION || echo gone\n",
    ],
)
def test_a_shell_reads_the_file_still(text: str) -> None:
    text = text.format("HSA_OVERRIDE_GFX_VERSION=10.3.0")
    where = places(text, "shell", _NAME, _VALUE)
    assert len(where.plain) == 1
    assert _bash(text) == "10.3.0"
    assert _bash(switched_off(text, "shell", where.plain, "x")) == "gone"


@pytest.mark.skipif(shutil.which("sed") is None, reason="no sed here")
def test_the_command_for_a_person_does_the_same(tmp_path: object) -> None:
    text = "if true; then\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\nfi\necho ${HSA_OVERRIDE_GFX_VERSION-gone}\n"
    words = by_hand("shell", 2, "-")
    done = subprocess.run([words[0], *words[2:]], input=text, capture_output=True, text=True, check=True)
    assert _bash(done.stdout) == "gone"


def _bash(text: str) -> str:
    done = subprocess.run(
        ["bash", "-c", text], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    return done.stdout.strip()


def test_a_line_that_is_off_already_is_told() -> None:
    text = "export A=1\nif true; then\n  export B=2\nfi\n"
    off = switched_off(switched_off(text, "shell", (1,), "x"), "shell", (3,), "y")
    assert off_already(off, "shell", "A", "1") == (1,)
    assert off_already(off, "shell", "B", "2") == (3,)
    assert off_already(off, "shell", "B", "3") == off_already(text, "shell", "A", "1") == ()
    assert off_already(switched_off("C=4\n", "env", (1,), "z"), "env", "C", "4") == (1,)
