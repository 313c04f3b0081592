"""Runs an emitted script in bash with a torchrun that only tells what it was given."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from rocdoctor.train.emit.files import File

_STUB = '#!/bin/sh\nprintf \'%s\\0\' "$@" > "$HERE/words"\nenv -0 > "$HERE/environment"\n'


def ran(file: File, folder: Path, **given: str) -> list[str]:
    """The words that a script gives to torchrun; AssertionError with what it said where it stops before."""
    return outcome(file, folder, given)[0]


def outcome(file: File, folder: Path, given: Mapping[str, str]) -> tuple[list[str], Mapping[str, str]]:
    """The words and the environment that a script gives to torchrun."""
    stub = folder / "bin" / "torchrun"
    stub.parent.mkdir(exist_ok=True)
    stub.write_text(_STUB)
    stub.chmod(0o755)
    script = folder / file.name
    script.write_text(file.text)
    here = {"PATH": f"{stub.parent}:/usr/bin:/bin", "HERE": str(folder), "MASTER_PORT": "29999", **given}
    command = ["bash", str(script)]
    done = subprocess.run(command, env=here, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == 0, done.stderr
    words = (folder / "words").read_text().split("\0")[:-1]
    environment = dict(one.split("=", 1) for one in (folder / "environment").read_text().split("\0")[:-1])
    return words, environment


def value(words: list[str], option: str) -> str:
    """The word after an option that stands there once."""
    assert words.count(option) == 1, (option, words)
    return words[words.index(option) + 1]
