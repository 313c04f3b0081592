"""No command or advice of ours puts anything under a name in /tmp that others can guess, and so have first.

Whoever makes the folder owns what lies there: a cache of kernels is code, and a link in place of a file leads
elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

_ROOT = Path(__file__).parents[2]
_TABLES = sorted((_ROOT / "rocdoctor/knowledge/tables").glob("*.yaml"))
_SAID = ("command", "fix", "remedy", "undo", "verify", "commands")
_SHARED = r"/(?:tmp|var/tmp|dev/shm)/[\w$.{-]"
_PUT = re.compile(
    rf"""(?x) [A-Za-z_]\w*=["']?{_SHARED}          # a setting
    | (?:>\s?|\b(?:tee|touch|mkdir)\s(?:-\S+\s)*)["']?{_SHARED}
    | (?:\s-o|\s-O|--output|--output-document|--log-file|--out)[=\s]["']?{_SHARED}"""
)


def _advice(value: Any, said: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _advice(one, key in _SAID)
    elif isinstance(value, list):
        for one in value:
            yield from _advice(one, said)
    elif said and isinstance(value, str):
        yield value


@pytest.mark.parametrize("told", ["A=/tmp/x-$USER run", 'B="/dev/shm/x" run', "dmesg > /tmp/log", "curl -o /tmp/k URL"])
def test_the_pattern_finds_what_it_is_for(told: str) -> None:
    assert _PUT.search(told)
    assert not _PUT.search(told.replace("/tmp/", "$(mktemp -d)/").replace("/dev/shm/", "~/"))


def test_no_table_proposes_a_name_that_others_can_guess() -> None:
    assert len(_TABLES) > 20
    texts = [(path.name, one) for path in _TABLES for one in _advice(yaml.safe_load(path.read_text("utf-8")))]
    assert len(texts) > 1000
    assert [(name, text) for name, text in texts if _PUT.search(text)] == []


def test_no_code_writes_such_a_name_into_a_command_or_a_script() -> None:
    places = [path for folder in ("rocdoctor", "checks") for path in sorted((_ROOT / folder).rglob("*.py"))]
    assert len(places) > 500
    found = [
        (str(path.relative_to(_ROOT)), line.strip())
        for path in places
        for line in path.read_text("utf-8").splitlines()
        if _PUT.search(line)
    ]
    assert found == []
