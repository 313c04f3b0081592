"""What a node does with the program that records it, and what engines make of its end."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.fleet.fetching import Asking, FetchName, fetch_plan
from rocdoctor.fleet.node_side import failed, missing_reason, on_node
from rocdoctor.fleet.record import MOST_BYTES

_ASKING = Asking(("gpu01", "gpu02"))
_LATE, _LONG = "no record within 60 s", "larger than a record may be"
_NONE = "no word of this node; try: ssh NODE true"


def _why(*said: str, over: bool = False) -> str:
    return missing_reason(said, "rocdoctor", 60, "ssh NODE true", over)


@pytest.mark.parametrize(
    ("body", "status", "out", "err"),
    [
        ('echo "$*"; echo odd >&2', 0, "record --out - --quiet --node gpu01\n", "odd\n"),
        ("echo half; echo no >&2; exit 3", 3, "half\n", "no\n\nexited with exit code 3\n"),
        ("exec cat /dev/zero", 1, "\0" * (MOST_BYTES + 1), f"\n{_LONG}\n"),
        ("trap '' PIPE; yes x 2> /dev/null; exit 0", 1, ("x\n" * MOST_BYTES)[: MOST_BYTES + 1], f"\n{_LONG}\n"),
        ("head -c 9999 /dev/zero >&2; exit 3", 3, "", "\0" * 4096 + "\nexited with exit code 3\n"),
        ("kill -KILL $$", 124, "", f"Killed\n\n{_LATE}\n"),
        ("exit 124", 124, "", f"\n{_LATE}\n"),
    ],
)
def test_a_node_says_itself_how_its_program_ended(body: str, status: int, out: str, err: str, tmp_path: Path) -> None:
    """Never by a signal, which ssh gives as 255. The timeout here runs what it is given, and waits for nothing."""
    for name, text in (("timeout", 'shift 2; "$@"'), ("rocdoctor", body)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o700)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(on_node("rocdoctor", None, 60, "gpu01"), capture_output=True, env=path, check=False)
    assert (done.returncode, done.stdout.decode()) == (status, out)
    assert [line for line in done.stderr.decode().splitlines() if line][-2:] == [
        line for line in err.splitlines() if line
    ]


def test_the_script_has_no_sign_that_shells_or_jinja_take_for_theirs() -> None:
    script = on_node("/opt/roc/bin/rocdoctor", "/etc/roc.key", 60, "n")[2]
    assert not set("'\"\\%!`\n").intersection(script)
    assert not any(pair in script for pair in ("{{", "}}", "{#", "#}"))
    assert "timeout --kill-after=5 60 /opt/roc/bin/rocdoctor record --out - --quiet --key /etc/roc.key" in script


# What each engine printed on 2026-11-29 of hosts that exit with 3, that run until the limit, and that flood: of
# ClusterShell 1.9.1, pdsh 2.34 and ansible-core 2.19, over OpenSSH 9.2; the host names are changed.
_PRINTED: dict[tuple[FetchName, str], tuple[str, ...]] = {
    ("clush", "exited with exit code 3"): ("gpu01: exited with exit code 3", "clush: gpu01: exited with exit code 3"),
    ("clush", _LATE): ("gpu01: Killed", f"gpu01: {_LATE}", "gpu01: ", "clush: gpu01: exited with exit code 124"),
    ("clush", _LONG): (f"gpu01: {_LONG}", "gpu01: ", "clush: gpu01: exited with exit code 1"),
    ("pdsh", "exited with exit code 3"): (
        "gpu01: exited with exit code 3",
        "pdsh@head: gpu01: sh exited with exit code 3",
    ),
    ("pdsh", _LATE): ("gpu01: Killed", f"gpu01: {_LATE}", "gpu01: ", "pdsh@head: gpu01: sh exited with exit code 124"),
    ("pdsh", _LONG): (f"gpu01: {_LONG}", "gpu01: ", "pdsh@head: gpu01: sh exited with exit code 1"),
    ("ansible", "cannot be written: No space left on device; exited with exit code 2"): (
        r'fatal: [gpu01]: FAILED! => {"changed": false, "msg": "cannot be written: No space left on device\r\n'
        r'exited with exit code 2\r\n "}',
    ),
    ("ansible", _LATE): (
        r'fatal: [gpu01]: FAILED! => {"changed": false, "msg": "Killed\r\nno record within 60 s\r\n "}',
    ),
    ("ansible", _LONG): (f'fatal: [gpu01]: FAILED! => {{"changed": false, "msg": "{"x" * 300}\\r\\n{_LONG}\\r\\n "}}',),
}


@pytest.mark.parametrize(("engine", "why"), _PRINTED)
def test_a_reason_however_the_engine_words_it(engine: FetchName, why: str) -> None:
    plan = fetch_plan(engine, _ASKING, "/run/f")
    told = [plan.complaint(line) for line in _PRINTED[engine, why]]
    assert {nodes for nodes, _ in told} <= {("gpu01",), ()}
    said = [words for nodes, words in told if nodes]
    assert failed(said)
    assert _why(*(one[:200] for one in said)) == why


def test_limits_of_the_engines_themselves() -> None:
    """Where a node stops even what should end its program; of the engines above, printed on 2026-11-29."""
    for engine, line in (
        ("clush", "clush: gpu[01-02]: command timeout"),
        ("clush", "clush: gpu01: exited with exit code 124"),
        ("pdsh", "pdsh@head: gpu01: command timeout"),
        ("pdsh", "pdsh@head: gpu01: sh exited with exit code 137"),
        (
            "ansible",
            'fatal: [gpu01]: FAILED! => {"changed": false, "msg": "Task failed: Timed out after 28 second(s).", '
            '"timedout": {"frame": "Configure `DISPLAY_TRACEBACK` to see a traceback.", "period": 28}}',
        ),
    ):
        plan = fetch_plan(engine, _ASKING, "/run/f")  # type: ignore[arg-type]
        nodes, words = plan.complaint(line)
        assert "gpu01" in nodes
        assert (failed([words]), _why(words)) == (True, _LATE), line


def test_other_reasons() -> None:
    absent = "rocdoctor is not on this node, or cannot be run; --program names it"
    assert _why("x", "exited with exit code 127", "x") == f"x; {absent}"
    assert _why("exited with exit code 141") == _LONG
    refused = "ssh: connect to host gpu01 port 22: Connection refused"
    assert _why(refused, "exited with exit code 255") == refused
    assert _why("sh exited with exit code 255") == "the connection ended without a word; try: ssh NODE true"
    assert _why() == _NONE
    assert _why(over=True) == "no word of this node before the end of the run; try: ssh NODE true"
    assert not failed(["Warning: Permanently added gpu01 to the list of known hosts."])


def test_each_engine_has_a_command_to_try_by_hand() -> None:
    asking = replace(_ASKING, ranks={"gpu01": 0, "gpu02": 1})
    found = {fetch_plan(one, asking, "/run/f").by_hand for one in ("srun", "ansible", "flux")}
    assert found == {
        "srun --nodelist=NODE true",
        "ansible -i INVENTORY NODE -m raw -a true",
        "flux exec --rank=RANK true",
    }


def test_a_node_of_ansible_is_told_its_name_as_a_word() -> None:
    (_, text) = fetch_plan("ansible", _ASKING, "/run/f").files[0]
    line = next(one for one in text.splitlines() if "{command: " in one)
    assert json.loads(line.partition("{command: ")[2].rstrip("}")).endswith(" sh '{{ inventory_hostname }}'")
