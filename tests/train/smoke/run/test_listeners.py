"""What listens while a mode runs on one machine: nothing that takes a pickle."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest

from rocdoctor.train.smoke.run.processes import alone, environment
from rocdoctor.train.smoke.worker import torchrun
from rocdoctor.train.smoke.worker.mode import LaunchPlan
from tests.train.smoke import launch_kit

pytestmark = pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs /proc")


def test_torchrun_meets_in_a_file_of_the_folder() -> None:
    command = torchrun.command(LaunchPlan("python", ["program"], 2, "cpu", "/tmp/folder", "127.0.0.1", 29511))
    assert command[command.index("--rdzv-conf") + 1] == "store_type=file"
    assert command[command.index("--rdzv-endpoint") + 1] == "/tmp/folder/rendezvous"
    assert not any("29511" in word for word in command)


def test_what_inductor_keeps_lies_where_nobody_else_can_lay_it(tmp_path: Path) -> None:
    """By itself it takes /tmp/torchinductor_NAME, and what lies there."""
    name = "TORCHINDUCTOR_CACHE_DIR"
    assert environment({}, "mark", tmp_path)[name] == str(tmp_path / "inductor")
    assert environment({name: "/mine"}, "mark", tmp_path)[name] == "/mine"


def test_no_variable_gives_torchrun_another_rendezvous() -> None:
    kept = environment({"PET_RDZV_BACKEND": "c10d", "PET_STANDALONE": "1", "PETAL": "x", "PATH": "/bin"}, "mark")
    assert not any(name.startswith("PET_") for name in kept) and kept["PETAL"] == "x"


def test_gloo_stays_on_loopback_unless_the_user_names_an_interface() -> None:
    assert alone({})["GLOO_SOCKET_IFNAME"] == "lo"
    assert alone({"GLOO_SOCKET_IFNAME": "eth7"}) == {"GLOO_SOCKET_IFNAME": "eth7"}


def listeners() -> set[tuple[str, str]]:
    """(address in the kernel's hexadecimal form, command line) of what this user's Python programs listen on."""
    sockets = {}
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                sockets[f"socket:[{words[9]}]"] = words[1].split(":")[0]
    found = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if "python" not in command:
                continue
            for handle in os.listdir(f"/proc/{entry}/fd"):
                with contextlib.suppress(OSError):
                    target = os.readlink(f"/proc/{entry}/fd/{handle}")
                    if target in sockets:
                        found.add((sockets[target], command))
    return found


@pytest.mark.heavy
def test_torchrun_of_the_elastic_mode_listens_on_no_port() -> None:
    pytest.importorskip("torch")
    over = threading.Event()
    seen: set[tuple[str, str]] = set()
    agents: set[str] = set()

    def watch() -> None:
        while not over.wait(0.05):
            seen.update(listeners())
            for entry in filter(str.isdigit, os.listdir("/proc")):
                with contextlib.suppress(OSError):
                    command = Path(f"/proc/{entry}/cmdline").read_bytes()
                    if b"torch.distributed.run" in command and b"rocdoctor-launch-" in command:
                        agents.add(entry)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        result = launch_kit.run("elastic")
    finally:
        over.set()
        thread.join(30)
    assert result.state == "pass", result.message
    ours = [(address, command) for address, command in seen if "rocdoctor-launch-" in command]
    assert agents and ours  # something was seen: the store of the ranks, and gloo
    assert [command for _, command in ours if "torch.distributed.run" in command] == []
    assert all(" launched " in command for _, command in ours)


def test_a_variable_that_the_runner_sets_is_not_taken_from_the_user(tmp_path: Path) -> None:
    """A number of a GPU that is not there would look like a broken one."""
    assert "ROCDOCTOR_SMOKE_GPUS" not in environment({"ROCDOCTOR_SMOKE_GPUS": "77"}, "mark", tmp_path)
