"""Asking nodes through an engine: stand-ins print what the real ones print, and what a hostile or sick node would."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.fleet import fetching
from rocdoctor.fleet.fetching import Asking, FetchName
from rocdoctor.fleet.record import as_data
from rocdoctor.fleet.store import Batch
from rocdoctor.host.live.program_lines import program_lines
from rocdoctor.service import fleet_fetch
from rocdoctor.service.errors import UsageError
from tests.fleet.kit import node
from tests.waiting import until

Engine = Callable[..., Batch]
_NODES = ("n0", "n1", "n2")


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Nodes asked through a shell script in place of the engine; records of nodes lie beside it."""
    for name in _NODES:
        (tmp_path / name).write_text(json.dumps(as_data(node(name, int(time.time()))), separators=(",", ":")) + "\n")

    def asked(
        engine: FetchName,
        script: str,
        nodes: tuple[str, ...] = _NODES,
        whole_s: int = 0,
        inventory: str | None = None,
    ) -> Batch:
        program = tmp_path / "engine"
        program.write_text(f'#!/bin/sh\ncd "{tmp_path}"\n{script}\n')
        program.chmod(0o700)
        monkeypatch.setattr(fleet_fetch, "find_program", lambda name: str(program))
        if whole_s:
            monkeypatch.setattr(Asking, "whole_s", lambda self: whole_s)
        return fleet_fetch.fetched(engine, Asking(nodes, inventory=inventory), lambda words: None)

    return asked


_ALL = 'for n in n0 n1 n2; do sed "s/^/$n: /" $n; done'


@pytest.mark.parametrize("engine", ["clush", "pdsh"])
def test_records_come_by_the_names_of_the_engine(ask: Engine, engine: FetchName) -> None:
    batch = ask(engine, _ALL)
    assert (sorted(batch.records), batch.problems, batch.unnamed) == (["n0", "n1", "n2"], {}, 0)


def test_srun_breaks_lines_and_counts_tasks(ask: Engine) -> None:
    """Task 0 is the first node that was named, in whatever order Slurm has them."""
    label = "fold -b -w 1024 n2 | sed 's/^/0: /'; fold -b -w 1024 n0 | sed 's/^/1: /'"
    batch = ask("srun", f'[ "$(cat $SLURM_HOSTFILE | tr -d "\\n")" = n2n0 ] && {{ {label}; }}', ("n2", "n0"))
    assert (sorted(batch.records), batch.problems) == (["n0", "n2"], {})
    batch = ask("srun", label, ("n0", "n2"))
    assert batch.records == {}, "the record of another node is none"
    assert batch.problems == {"n0": "speaks for another node", "n2": "speaks for another node"}


def test_ansible_brings_a_file_for_each(ask: Engine) -> None:
    script = """
play=$(eval echo \\$$#); to=$(dirname $play)/records
cp n0 $to/n0.json; cp n1 $to/n2.json
echo 'n1: {"schema": "a line that some host printed"}'
echo 'fatal: [n1]: UNREACHABLE! => {"changed": false, "msg": "No route to host", "unreachable": true}'
exit 4"""
    batch = ask("ansible", script)
    assert sorted(batch.records) == ["n0"]
    assert batch.problems == {"n1": "No route to host", "n2": "speaks for another node"}


def test_no_node_speaks_for_another_nor_fills_memory(ask: Engine) -> None:
    script = """
sed "s/^/n0: /" n0; sed "s/^/n1: /" n0; sed "s/^/n7: /" n2
printf 'n2: '; head -c 3000000 /dev/zero | tr '\\0' x; echo
head -c 3000000 /dev/zero | tr '\\0' y >&2
printf '\\377\\n\\033[2J\\n'"""
    batch = ask("clush", script)
    assert sorted(batch.records) == ["n0"]
    assert batch.problems == {"n1": "speaks for another node", "n2": "larger than a record may be"}
    assert batch.unnamed == 3
    grown = 'i=0; while [ $i -lt 3000 ]; do printf "0: %01024d\\n" 0; i=$((i+1)); done'
    assert ask("srun", grown, ("n0",)).problems == {"n0": "larger than 1048576 bytes"}


def test_an_engine_that_hangs_costs_the_nodes_that_said_nothing(ask: Engine, tmp_path: Path) -> None:
    batch = ask("clush", f'sed "s/^/n1: /" n1; sleep 600 & echo $! > {tmp_path}/pid; wait', whole_s=1)
    assert sorted(batch.records) == ["n1"]
    assert batch.problems == dict.fromkeys(
        ("n0", "n2"), "no word of this node before the end of the run; try: ssh NODE true"
    )
    begun = (tmp_path / "pid").read_text().strip()
    assert until(lambda: not _runs(begun))


def _runs(pid: str) -> bool:
    """Whether a process is there and more than the memory of one that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_engine_that_asks_nobody_is_said_in_its_own_words(ask: Engine) -> None:
    with pytest.raises(UsageError, match="srun asked no node: srun: error: Requested nodes are busy"):
        ask("srun", "echo 'srun: error: Requested nodes are busy' >&2; exit 1")
    with pytest.raises(UsageError, match="exit status 3"):
        ask("clush", "exit 3")
    assert ask("clush", "true").problems == dict.fromkeys(_NODES, "no word of this node; try: ssh NODE true")


def test_nothing_is_left_behind(ask: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = tmp_path / "own"

    def folder(prefix: str) -> str:
        made.mkdir()
        return str(made)

    monkeypatch.setattr(fleet_fetch, "private_folder", folder)
    ask("srun", "exit 0")
    assert not made.exists()
    with pytest.raises(fetching.FetchError):
        ask("srun", "exit 0", ("a b",))
    assert not made.exists()


def test_an_engine_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_fetch, "find_program", lambda name: None)
    for why in ("", "root does not run /x/clush: others can change it"):
        monkeypatch.setattr(fleet_fetch, "refusal", lambda name, why=why: why)
        with pytest.raises(UsageError, match=why or "clush is not installed here"):
            fleet_fetch.fetched("clush", Asking(_NODES), lambda words: None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is in danger, and only root can give files away")
def test_root_takes_no_settings_that_others_wrote(ask: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "ansible.cfg"
    settings.write_text("[defaults]\ncallback_plugins=/tmp/x\n")
    os.chown(settings, 12345, 12345)
    monkeypatch.setenv("ANSIBLE_CONFIG", str(settings))
    with pytest.raises(UsageError, match="root runs no code of others"):
        ask("ansible", "true")


def test_an_engine_that_closes_its_output_and_lives_on(ask: Engine) -> None:
    batch = ask("clush", 'sed "s/^/n1: /" n1; exec >&- 2>&-; sleep 600', whole_s=2)
    assert sorted(batch.records) == ["n1"], "what came counts"


def test_a_node_that_says_nothing_without_end_costs_itself(ask: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_fetch, "MOST_BYTES", 20_000)
    batch = ask("srun", "yes '0: ' | head -n 40000; fold -b -w 1024 n1 | sed 's/^/1: /'", ("n0", "n1"))
    assert sorted(batch.records) == ["n1"]
    assert batch.problems == {"n0": "not a JSON text"}


def test_the_inventory_is_found_from_where_the_engine_starts(
    ask: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hosts.ini").write_text("n0\n")
    monkeypatch.chdir(tmp_path)
    ask("ansible", 'echo "$2" > seen; echo "fatal: [n0]: FAILED! => {}"', inventory="hosts.ini")
    assert (tmp_path / "seen").read_text() == f"{tmp_path}/hosts.ini\n"
    ask("ansible", 'echo "$2" > seen; echo "fatal: [n0]: FAILED! => {}"', inventory="n0,n1,")
    assert (tmp_path / "seen").read_text() == "n0,n1,\n"
    with pytest.raises(UsageError, match="no such file"):
        ask("ansible", "true", inventory="gone.ini")
    with pytest.raises(UsageError, match="asked no node: skipping: no hosts matched"):
        ask("ansible", "echo 'skipping: no hosts matched'", inventory="hosts.ini")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is in danger, and only root can give files away")
@pytest.mark.parametrize(
    "place", ["hosts,ini", "group_vars/all.yml", "host_vars/n0/deep.yml", "group_vars/x/aside.yml"]
)
def test_root_takes_no_inventory_that_others_may_change(ask: Engine, tmp_path: Path, place: str) -> None:
    """The name of a file may have a comma, as a list of hosts has, and folders may be links."""
    site = tmp_path / "site"
    (site / "group_vars").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (site / "group_vars/x").symlink_to(tmp_path / "elsewhere")
    for name in ("hosts,ini", "group_vars/all.yml", "host_vars/n0/deep.yml", "group_vars/x/aside.yml"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("")
    os.chown(site / place, 12345, 12345)
    with pytest.raises(UsageError, match="root runs no code of others"):
        ask("ansible", "true", inventory=str(site / "hosts,ini"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is in danger, and only root can give files away")
def test_root_runs_no_inventory_that_a_program_of_others_reads(ask: Engine, tmp_path: Path) -> None:
    theirs, script = tmp_path / "theirs", tmp_path / "hosts"
    theirs.write_text("#!/bin/sh\n")
    theirs.chmod(0o755)
    os.chown(theirs, 12345, 12345)
    script.write_text(f"#!{theirs}\n")
    script.chmod(0o755)
    with pytest.raises(UsageError, match="root runs no code of others"):
        ask("ansible", "true", inventory=str(script))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is in danger, and only root can give files away")
@pytest.mark.parametrize("place", ["hosts", "group_vars/all.yml", "host_vars/n0/deep.yml"])
def test_root_takes_no_inventory_that_names_what_others_can_make(ask: Engine, tmp_path: Path, place: str) -> None:
    """A program to connect with, or a socket: whoever holds that answers in the place of the nodes."""
    for name in ("hosts", "group_vars/all.yml", "host_vars/n0/deep.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("n0:\n")
    ask("ansible", "echo 'fatal: [n0]: FAILED! => {}'", inventory=str(tmp_path / "hosts"))
    (tmp_path / place).write_text("n0 ansible_ssh_common_args='-o ControlPath=/tmp/no-such-socket-%h'\n")
    with pytest.raises(UsageError, match="no-such-socket-%h can be made by everybody"):
        ask("ansible", "true", inventory=str(tmp_path / "hosts"))


def test_an_engine_has_no_more_memory_than_it_may() -> None:
    script = 'while [ "$(ulimit -v)" = unlimited ]; do :; done; ulimit -v'
    found = list(program_lines(["sh", "-c", script], {}, 10.0, 100, 1 << 30))
    assert [one.text for one in found] == [b"1048576\n", b"0"]


def test_a_system_without_such_bounds_asks_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS has no prlimit, Windows no module of that name: administrators ask from there too."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(resource, "prlimit")
    assert [line.text for line in program_lines(["/bin/true"], {}, 10, 100, 1 << 30)] == [b"0"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is in danger, and only root can give files away")
@pytest.mark.parametrize(
    "line",
    ["callback_plugins = {}", "library={}", "inventory : /etc/hosts,{}", "ssh_executable={}/ssh", "roles_path=/x:{}"],
)
def test_root_takes_no_settings_that_name_code_of_others(
    ask: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "ssh").write_text("")
    os.chown(theirs, 12345, 12345)
    settings = tmp_path / "ansible.cfg"
    settings.write_text(f"[defaults]\n{line.format(theirs)}\n")
    monkeypatch.setenv("ANSIBLE_CONFIG", str(settings))
    with pytest.raises(UsageError, match="root runs no code of others"):
        ask("ansible", "true")


def test_settings_may_name_what_is_not_there(ask: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As usual lists of folders do: /usr/share/ansible/roles:/etc/ansible/roles."""
    settings = tmp_path / "ansible.cfg"
    settings.write_text(f"[defaults]\nroles_path = /usr/share/no-such-ansible/roles:{tmp_path}/none\n")
    monkeypatch.setenv("ANSIBLE_CONFIG", str(settings))
    assert ask("ansible", "echo 'fatal: [n0]: FAILED! => {}'").problems
    settings.write_text("[defaults]\nroles_path = /tmp/no-such-folder-of-mine\n")
    if os.geteuid() == 0:
        with pytest.raises(UsageError, match="can be made by everybody"):
            ask("ansible", "true")


def test_the_command_judges_what_came(
    ask: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask("clush", _ALL)
    store = str(tmp_path / "store")
    assert run(["fleet", "run", store, "n[0-2]", "--on", "clush"]) == 0
    told = capsys.readouterr()
    assert told.out == "3 of 3 nodes reported: nothing to do.\n"
    assert told.err.startswith("+ clush --worker=exec -S -w 'n[0-2]' -f 64 -u 75 'exec 4>&1; ")
    ask("clush", "true")
    assert run(["fleet", "run", store, "n[0-2]", "--on", "clush", "--json"]) == 1, "nobody answered"
    assert json.loads(capsys.readouterr().out)["counts"]["unknown"] == 3


def test_wrong_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["n1"], "--on srun, clush, pdsh, ansible or flux"),
        (["n1", "--on", "slurm"], "--on srun, clush, pdsh, ansible or flux"),
        (["--on", "pdsh"], "'gpu[01-40]'"),
        (["n[1-", "--on", "pdsh"], "not a list of nodes"),
        (["n1", "--on", "pdsh", "--program", "a b"], "plain letters"),
        (["n1", "--on", "pdsh", "--limit", "0"], "from 1 to 3600"),
    ):
        assert run(["fleet", "run", str(tmp_path / "s"), *words]) == 2, words
        assert said in capsys.readouterr().err
    assert run(["fleet", "apply", str(tmp_path / "s"), "--on", "clush"]) == 2


@pytest.mark.parametrize("engine", ["clush", "pdsh"])
def test_the_real_engines(engine: FetchName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs themselves, with a shell in place of ssh: it hangs, fails, and prints too much."""
    program = shutil.which(engine)
    if program is None:
        pytest.skip(f"{engine} is not installed")
    body = """
for word in "$@"; do case $word in n[0-9]) node=$word; break;; esac; done
case $node in
n0) cat "$0.n0";;
n1) echo "ssh: connect to host n1 port 22: Connection refused" >&2; exit 255;;
n2) exec timeout 1 sleep 60;;
n3) exit 127;;
esac"""
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh{body}\n")
    ssh.chmod(0o700)
    (tmp_path / "ssh.n0").write_text(json.dumps(as_data(node("n0"))) + "\n")
    monkeypatch.setattr(fetching, "_SSH", f"{ssh} -x")
    monkeypatch.setattr(fleet_fetch, "find_program", lambda name: program)
    batch = fleet_fetch.fetched(engine, Asking(("n0", "n1", "n2", "n3")), lambda words: None)
    assert sorted(batch.records) == ["n0"]
    assert "Connection refused" in batch.problems["n1"]
    assert batch.problems["n2"] == "no record within 60 s"
    assert "--program names it" in batch.problems["n3"]


def test_flux_runs_each_rank_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in that does what src/cmd/flux-exec.c of flux-core does, and nodes as they may be.

    They send no line end, hang, cannot be reached, lack rocdoctor, send 3 MB, the record of another, and complaints
    that look like those of others. xargs, sh and the rest are real.
    """
    script = f"""#!/bin/sh
cd {tmp_path}
for node in "$@"; do :; done
[ "$1 $2 $3 $4 $6 $7 $9" = "exec --noinput --quiet --dir=/ sh -c sh" ] || exit 99
[ "$#:$node" = "10:n${{5#--rank=}}" ] || exit 99
case $5 in
--rank=0) tr -d '\n' < n0;;
--rank=1) exit 124;;
--rank=2) echo "flux-exec: Error: rank 2: timeout: No route to host" >&2; exit 68;;
--rank=3) exit 127;;
--rank=4) head -c 3000000 /dev/zero | tr '\0' x;;
--rank=5) cat n0;;
--rank=6) cat n6; yes "n1: lies" | head -n 9000 >&2; printf 'n1: lies' >&2;;
esac
"""
    (tmp_path / "flux").write_text(script.replace("\0", "\\000"))
    (tmp_path / "flux").chmod(0o700)
    for name in ("n0", "n6"):
        (tmp_path / name).write_text(json.dumps(as_data(node(name))) + "\n")
    said = {"hostlist": "n[0-6]\n", "size": "7\n"}
    monkeypatch.setattr(fleet_fetch, "answered", lambda argv: said[argv[2]])
    found = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LC_ALL": "C"}
    monkeypatch.setattr(fleet_fetch, "_environment", lambda plan: found)
    names = tuple(f"n{number}" for number in (6, 5, 4, 3, 2, 1, 0))
    batch = fleet_fetch.fetched("flux", Asking(names), lambda words: None)
    assert sorted(batch.records) == ["n0", "n6"]
    assert batch.problems == {
        "n1": "no record within 60 s",
        "n2": "flux-exec: Error: rank 2: timeout: No route to host; exited with exit code 68",
        "n3": "rocdoctor is not on this node, or cannot be run; --program names it",
        "n4": "larger than a record may be",
        "n5": "speaks for another node",
    }
    with pytest.raises(fetching.FetchError, match="'n7' is not a host of this Flux instance"):
        fleet_fetch.fetched("flux", Asking(("n0", "n7")), lambda words: None)
    said["size"] = "8\n"
    with pytest.raises(UsageError, match="8 brokers on 7 hosts"):
        fleet_fetch.fetched("flux", Asking(("n0",)), lambda words: None)


def test_the_play_passes_its_real_reader(tmp_path: Path) -> None:
    program = shutil.which("ansible-playbook")
    if program is None:
        pytest.skip("ansible-playbook is not installed")
    play = tmp_path / "play.yml"
    play.write_text(dict(fetching.fetch_plan("ansible", Asking(_NODES), str(tmp_path)).files)["play.yml"])
    done = subprocess.run(
        [program, "--syntax-check", "-i", "n0,n1,n2,", str(play)],
        capture_output=True,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stderr
