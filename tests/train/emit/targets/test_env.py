from __future__ import annotations

import subprocess
from dataclasses import replace

from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.env import bare, files, refuses
from rocdoctor.train.recommend.plan import Setting
from tests.train.emit.plan_kit import fleet, plan


def _shell(text: str, name: str) -> str:
    done = subprocess.run(["sh", "-c", f'{text}\nprintf %s "${name}"'], capture_output=True, text=True, check=True)
    return done.stdout


def test_a_shell_and_a_reader_of_env_files_get_the_same_values() -> None:
    made = plan()
    shell, listed = files(made, Order())
    assert (shell.name, listed.name) == ("rocdoctor-env.sh", "rocdoctor.env")
    assert _shell(shell.text, "OMP_NUM_THREADS") == "8"
    read = dict(line.split("=", 1) for line in listed.text.splitlines() if line and not line.startswith("#"))
    assert read == {one.name: one.value for one in made.environment}


def test_each_variable_stands_below_its_reason() -> None:
    made = plan()
    for file in files(made, Order()):
        lines = file.text.splitlines()
        at = next(number for number, line in enumerate(lines) if line.endswith("OMP_NUM_THREADS=8"))
        assert lines[at - 1] == f"# {made.environment[0].reason}"


def test_odd_values_and_reasons_stay_one_value_and_a_comment() -> None:
    odd = Setting("PYTORCH_ALLOC_CONF", "a b;touch $(id)'\nexport X=1", "a reason\nexport Y=1")
    shell, listed = files(replace(plan(), environment=(odd,)), Order())
    assert _shell(shell.text, "PYTORCH_ALLOC_CONF") == "a b;touch $(id)' export X=1"
    assert _shell(shell.text, "X") == _shell(shell.text, "Y") == ""
    assert len([line for line in listed.text.splitlines() if line and not line.startswith("#")]) == 1


def test_what_differs_by_node_is_said_and_not_set() -> None:
    for file in files(plan(fleet(nodes=2)), Order()):
        assert "NCCL_SOCKET_IFNAME" in file.text
        assert all("SOCKET_IFNAME" not in line for line in file.text.splitlines() if not line.startswith("#"))
    assert "NCCL_SOCKET_IFNAME" not in files(plan(), Order())[0].text


def test_without_a_workload_the_fleet_alone_is_asked() -> None:
    shell, _ = bare(fleet())
    assert _shell(shell.text, "OMP_NUM_THREADS") == "8"
    assert "DUMP_ON_TIMEOUT" not in shell.text


def test_a_machine_that_needs_nothing_is_told_so() -> None:
    alone = fleet(per_node=1)
    assert all("nothing is needed" in file.text for file in bare(alone))


def test_no_configuration_is_refused() -> None:
    assert refuses(plan(parallel={"tp": 8}).work) is None
