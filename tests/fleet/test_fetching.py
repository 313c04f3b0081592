"""How engines are started, and what of their output belongs to which node."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import yaml

from rocdoctor.fleet.fetching import Asking, FetchError, FetchName, fetch_plan
from rocdoctor.fleet.node_names import folded, unfolded

_ASKING = Asking(("gpu02", "gpu01", "login"), ranks={"gpu01": 0, "gpu02": 1, "login": 2})


def test_the_names_of_a_list_and_back() -> None:
    assert unfolded("gpu[0003,0712-0714],login1") == ["gpu0003", "gpu0712", "gpu0713", "gpu0714", "login1"]
    assert unfolded("r[1-2]n[08-10]") == ["r1n08", "r1n09", "r1n10", "r2n08", "r2n09", "r2n10"]
    assert unfolded("b a,b\n127.0.1.[1-2]") == ["b", "a", "127.0.1.1", "127.0.1.2"]
    assert unfolded("") == []
    names = [f"gpu{number:04d}" for number in (1, 2, 3, 9)] + ["login"]
    assert unfolded(folded(names)) == sorted(names, key=lambda name: (name != "login", name))


@pytest.mark.parametrize(
    "text", ["gpu[1-", "gpu[2-1]", "a[]", "a;b", "$(x)", "n[1-999999999]", "a[x]", "a]b", "n[1-999][1-999]"]
)
def test_what_is_no_list_of_nodes(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a|more than"):
        unfolded(text)


def test_many_ranges_in_one_bracket_are_not_counted_out_first() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="more than 100000 nodes"):
            unfolded("n[" + ",".join(["1-99999"] * 30) + "]")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("engine", get_args(FetchName))
def test_no_word_reaches_a_shell_but_plain_ones(engine: FetchName) -> None:
    for bad in (
        replace(_ASKING, nodes=()),
        replace(_ASKING, nodes=("a b",)),
        replace(_ASKING, nodes=("-oProxyCommand=x",)),
        replace(_ASKING, nodes=("a;reboot",)),
        replace(_ASKING, nodes=("n1", "all")),
        replace(_ASKING, program="rocdoctor; reboot"),
        replace(_ASKING, program="--help"),
        replace(_ASKING, program="{{ lookup('pipe', 'x') }}"),
        replace(_ASKING, program="/opt/%h/rocdoctor"),
        replace(_ASKING, key="/etc/$(x)"),
        replace(_ASKING, key="relative"),
    ):
        with pytest.raises(FetchError):
            fetch_plan(engine, bad, "/tmp/x")


@pytest.mark.parametrize("engine", get_args(FetchName))
def test_each_engine_ends_a_node_that_hangs_on_the_node_itself(engine: FetchName) -> None:
    plan = fetch_plan(engine, replace(_ASKING, limit_s=45, key="/etc/roc.key"), "/run/f")
    words = " ".join((*plan.argv, *(text for _, text in plan.files)))
    assert "timeout --kill-after=5 45 rocdoctor record --out - --quiet --key /etc/roc.key" in words


def test_the_whole_run_ends_by_rounds_of_nodes() -> None:
    assert replace(_ASKING, limit_s=60, at_once=2).whole_s() == 2 * 75 + 30
    assert replace(_ASKING, limit_s=60, at_once=64).whole_s() == 75 + 30


def test_slurm_says_which_task_and_the_file_of_hosts_which_node() -> None:
    plan = fetch_plan("srun", _ASKING, "/run/f")
    assert plan.files == (("hosts", "gpu02\ngpu01\nlogin\n"),)
    assert ("SLURM_HOSTFILE", "/run/f/hosts") in plan.environment
    assert {"--label", "--distribution=arbitrary", "--ntasks-per-node=1", "--nodes=3"} <= set(plan.argv)
    assert plan.in_parts
    assert plan.record_part("0: {") == ("gpu02", "{")
    assert plan.record_part("1:  x\n") == ("gpu01", " x"), "a blank may belong to what was broken"
    assert plan.record_part("3: {") is None
    assert plan.record_part("gpu01: {") is None
    assert plan.complaint("2: bash: no such file") == (("login",), "bash: no such file")
    assert plan.complaint("srun: error: gpu01: task 1: Exited with exit code 124") == ((), "")


@pytest.mark.parametrize("engine", ["clush", "pdsh"])
def test_a_node_is_who_the_engine_says(engine: FetchName) -> None:
    plan = fetch_plan(engine, _ASKING, "/run/f")
    assert plan.record_part('gpu01: {"a": "gpu02: {"}\n') == ("gpu01", '{"a": "gpu02: {"}\n')
    assert plan.record_part("gpu9: {}\n") is None
    assert plan.record_part("no name\n") is None
    words = shlex.split(plan.argv[-1])
    ssh = words[words.index("ssh") : words.index("3>&-")]
    assert shlex.split(ssh[-1])[:2] == ["sh", "-c"]
    assert shlex.split(ssh[-1])[3:] == ["sh", "%h"]
    lent_nothing = ["-a", "-k", "-x", "-oClearAllForwardings=yes"]
    assert ssh[: ssh.index("%h")] == ["ssh", *lent_nothing, "-T", "-n", "-oBatchMode=yes", "-oConnectTimeout=10"]


@pytest.mark.parametrize(
    ("body", "status", "out", "err"),
    [
        ("printf '{\"a\": 1}\\n'; echo no >&2; exit 3", 3, b'{"a": 1}\n\n', b"no\n\n"),
        ("printf 'x\\000\\ngpu02: {}'; printf 'n\\000o' >&2", 0, b"x\ngpu02: {}\n", b"no\n"),
        ("exec head -c 3000000 /dev/zero | tr '\\000' x", 141, b"x" * 1049600 + b"\n", b"\n"),
        ("head -c 3000000 /dev/zero | tr '\\000' x >&2", 0, b"\n", b"x" * 8192 + b"\n"),
    ],
)
def test_what_a_node_sends_is_bounded_and_ends_with_a_line(
    body: str, status: int, out: bytes, err: bytes, tmp_path: Path
) -> None:
    """Before an engine sees it: clush holds a line of any length, pdsh joins one without an end to that of another."""
    (tmp_path / "ssh").write_text(f"#!/bin/sh\n{body}\n")
    (tmp_path / "ssh").chmod(0o700)
    for engine in ("clush", "pdsh"):
        line = fetch_plan(engine, _ASKING, "/run/f").argv[-1]
        path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = subprocess.run(["sh", "-c", line], capture_output=True, env=path, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (status, out, err)


def test_complaints_as_the_engines_word_them() -> None:
    """Texts of clush 1.9.1, pdsh 2.34 and ansible-core 2.19, printed on 2026-11-28."""
    clush, pdsh = (fetch_plan(one, _ASKING, "/run/f").complaint for one in ("clush", "pdsh"))
    assert clush("clush: gpu[01-02,77]: command timeout") == (("gpu01", "gpu02"), "command timeout")
    assert clush("clush: gpu02: exited with exit code 255") == (("gpu02",), "exited with exit code 255")
    refused = "ssh: connect to host gpu01 port 22: Connection refused"
    assert clush(f"gpu01: {refused}") == pdsh(f"gpu01: {refused}") == (("gpu01",), refused)
    assert pdsh("pdsh@head: gpu01: ssh exited with exit code 127") == (("gpu01",), "ssh exited with exit code 127")
    assert clush("gpu77: anything") == ((), "")
    ansible = fetch_plan("ansible", _ASKING, "/run/f").complaint
    told = json.dumps({"changed": False, "msg": "a\r\nlast\r\n\r\nexited with exit code 3\r\n "})
    assert ansible(f"fatal: [gpu01]: FAILED! => {told}") == (("gpu01",), "last; exited with exit code 3")
    assert ansible(f"fatal: [gpu77]: FAILED! => {told}") == ((), "")
    assert ansible('fatal: [gpu01]: UNREACHABLE! => {"msg": "no route"}') == (("gpu01",), "no route")
    assert ansible('fatal: [gpu01]: UNREACHABLE! => {"msg": ') == (("gpu01",), '{"msg": ')


def test_the_play_is_one_that_writes_a_file_for_each_node() -> None:
    plan = fetch_plan("ansible", _ASKING, "/run/f")
    (play,) = yaml.safe_load(dict(plan.files)["play.yml"])
    assert play["hosts"] == ["gpu02", "gpu01", "login"]
    odd = fetch_plan("ansible", replace(_ASKING, nodes=("0012", "10")), "/run/f")
    assert yaml.safe_load(dict(odd.files)["play.yml"])[0]["hosts"] == ["0012", "10"]
    first, told, second = play["tasks"]
    assert (first["failed_when"], told["when"]) == (False, "rocdoctor_record.rc != 0")
    assert second["ansible.builtin.copy"]["dest"] == "/run/f/records/{{ inventory_hostname }}.json"
    # What settings name for nodes may be a user's here: tried with ansible-core 2.19, it ran as who asks.
    assert second["vars"]["ansible_python_interpreter"] == "{{ ansible_playbook_python }}"
    assert second["vars"]["ansible_remote_tmp"] == dict(plan.environment)["ANSIBLE_LOCAL_TEMP"] == "/run/f/tmp"
    assert plan.argv[:3] == ("ansible-playbook", "-i", "gpu02,gpu01,login,")
    caches = {value for name, value in plan.environment if name.endswith("CACHE_PLUGIN")}
    assert caches == {"memory"}, "what earlier runs kept may lie where anybody writes"
    assert ("ANSIBLE_SSH_EXTRA_ARGS", "-a -k -x -oClearAllForwardings=yes") in plan.environment
    assert plan.memory_bytes == 2 << 30
    assert "-i site.ini" in " ".join(fetch_plan("ansible", replace(_ASKING, inventory="site.ini"), "/run/f").argv)
