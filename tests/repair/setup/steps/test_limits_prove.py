"""Limits of the session, the proof at the end, and remarks on the whole."""

from __future__ import annotations

from rocdoctor.repair.setup.plan import Verify
from tests.golden.edits import Broken
from tests.machines.files import Files
from tests.repair.setup.kit import commands, ids, plan_in, plan_of, set_os, step_of


def _limits(line: str, value: str) -> object:
    def edit(machine: Broken) -> None:
        rows = machine.text("read /proc/self/limits").splitlines()
        kept = [f"{line:<26}{value:<21}{value:<21}x" if row.startswith(line) else row for row in rows]
        machine.set("read /proc/self/limits", "\n".join(kept))

    return edit


def test_enough_is_done_with_its_value() -> None:
    found = plan_of("mi300x-8gpu")
    for name in ("nofile", "shm", "memlock"):
        assert step_of(found, name).state == "done"
        assert step_of(found, name).evidence
    assert "memlock" not in ids(plan_of("rx9070xt"))  # no adapter that could use it


def test_locked_memory_for_rdma_takes_effect_at_the_next_login() -> None:
    def small(machine: Broken) -> None:
        _limits("Max locked memory", "65536")(machine)  # type: ignore[operator]

    found = step_of(plan_of("mi300x-8gpu", small), "memlock")
    assert (found.state, found.effective, found.risk) == ("todo", "new-login", "safe")
    assert found.actions[0].file == "/etc/security/limits.d/90-rdma.conf"
    assert found.actions[0].lines == ("* soft memlock unlimited", "* hard memlock unlimited")
    assert [one.command for one in found.undo] == ["rm -f /etc/security/limits.d/90-rdma.conf"]
    assert found.verify == Verify("memlock-low")


def test_shared_memory_of_a_machine_is_made_larger_and_that_of_a_container_at_its_start() -> None:
    def small(machine: Broken) -> None:
        machine.set("space /dev/shm", f"{64 << 20} {64 << 20}")

    here = step_of(plan_of("rx9070xt", small), "shm")
    assert commands(here) == ["mount -o remount,size=8G /dev/shm"]
    assert here.actions[0].root
    assert any("/etc/fstab" in note for note in here.notes)
    inside = step_of(plan_of("mi300x-docker", small), "shm")
    assert (inside.state, inside.risk, inside.actions) == ("todo", "manual", ())
    assert any("--shm-size" in note for note in inside.notes)
    job = step_of(plan_of("mi210-slurm-2of8", small), "shm")
    assert (job.risk, job.actions) == ("manual", ())


def test_few_open_files_are_the_matter_of_the_job() -> None:
    found = step_of(plan_of("mi300x-8gpu", _limits("Max open files", "1024")), "nofile")  # type: ignore[arg-type]
    assert (found.state, found.optional, found.actions) == ("todo", True, ())
    assert any("ulimit -n" in note for note in found.notes)


def test_on_a_cluster_the_limit_is_for_its_administrator() -> None:
    found = step_of(plan_of("mi210-slurm-2of8", _limits("Max open files", "512")), "nofile")  # type: ignore[arg-type]
    assert found.notes[-1] == "The limit itself is set by the administrator of this cluster."


# -- the proof


def test_the_checks_are_the_proof_and_name_what_is_left() -> None:
    good = step_of(plan_of("mi300x-8gpu"), "checks")
    assert good.state == "done"
    assert "finds an error" in good.why and good.evidence
    bad = step_of(plan_in("xtx-ubuntu2404-cuda-torch"), "checks")
    assert bad.state != "done"
    assert bad.notes
    assert ".:" not in " ".join(bad.notes)


def test_smoke_is_advice_until_it_ran() -> None:
    found = step_of(plan_of("mi300x-8gpu"), "smoke")
    assert (found.state, found.optional) == ("todo", True)
    assert commands(found) == ["rocdoctor smoke"]
    assert step_of(plan_in("xtx-ubuntu2404-fresh"), "smoke").state == "waiting"
    assert "smoke" not in ids(plan_in("xtx-ubuntu2404-fresh", "rocm"))


# -- remarks


def test_the_whole_says_where_it_is() -> None:
    assert plan_of("rx7900xtx-podman").notes[0].startswith("This is a rootless podman container")
    assert plan_of("mi300x-docker").notes[0].startswith("This is a docker container")
    assert plan_of("wsl2-rx7900xtx").notes[0].startswith("This is WSL")
    assert "scheduler" in plan_of("mi210-slurm-2of8").notes[0]
    assert plan_of("mi300x-8gpu").notes == ()


def test_an_unknown_distribution_is_said_once() -> None:
    found = plan_of("rx9070xt", set_os("gentoo", "2.15", "gentoo"))
    assert [note for note in found.notes if "gentoo" in note] == [
        "The tables have no row for gentoo 2.15: the steps that need its packages say so."
    ]


def test_a_hostile_distribution_name_stays_one_line() -> None:
    def hostile(files: Files) -> None:
        files.put("/etc/os-release", 'ID=gentoo\nPRETTY_NAME="x\x1b[31m' + "y" * 3000 + '"\n')

    found = plan_in("xtx-ubuntu2404-fresh", files=hostile)
    assert all("\x1b" not in note and len(note) < 400 for note in found.notes)
