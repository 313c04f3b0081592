from __future__ import annotations

import pytest

from rocdoctor.model.evidence import Source
from rocdoctor.model.facts import SlurmNode
from rocdoctor.model.finding import Finding
from tests.kit import judge, machine, states
from tests.text_kit import diagnosed

NAME = "slurm-node-drained"


def node(state: str = "drained", reason: str | None = None, silent: bool = False, by: str = "root") -> SlurmNode:
    told = tuple(state.split("+")) if state else ()
    return SlurmNode("gpu02", told, silent, reason, by, None, Source("run sinfo -N -l", 3))


def found(one: SlurmNode) -> Finding:
    (verdict,) = judge(NAME, machine(slurm_nodes=(one,)))
    assert verdict.finding is not None
    return verdict.finding


def test_a_missing_gpu_names_the_node_first() -> None:
    one = found(node("idle+drain", "gres/gpu count reported lower than configured (7 < 8)"))
    assert one.severity == "error" and one.cause == "gpu-hardware-fault" and one.confidence == "possible"
    assert "node gpu02" in one.message and "7 of 8 GPUs: 1 is gone" in one.message
    assert one.fix is not None and one.fix.text.startswith("Look at node gpu02: count the GPUs")
    assert one.fix.command.startswith("ssh gpu02 ")
    assert one.evidence[0].line == 3


def test_no_gpu_at_all_is_the_driver() -> None:
    one = found(node(reason="gres/gpu count too low (0 < 8)"))
    assert one.cause == "kernel-module-not-loaded"
    assert "none of its 8 GPUs" in one.message


def test_a_reason_that_a_table_cut_short() -> None:
    assert "fewer GPUs than slurm.conf says" in found(node(reason="gres/gpu count repor")).message


@pytest.mark.parametrize(
    ("reason", "words", "severity"),
    [
        ("Not responding", "does not answer", "error"),
        ("Kill task failed", "could not be killed", "error"),
        ("Low RealMemory (reported:515000 < 100.00% of configured:1031000)", "less memory than slurm.conf", "error"),
        ("Low socket*core*thread count, Low CPUs", "different hardware than slurm.conf", "warning"),
        ("Node unexpectedly rebooted", "rebooted unexpectedly", "error"),
        ("Prolog error", "script or step of Slurm failed", "error"),
        ("batch job complete failure", "script or step of Slurm failed", "error"),
        ("ResumeTimeout reached", "did not come back in time", "error"),
        ("NHC: check_hw_physmem: RAM 500GB < 1000GB", "health check failed", "error"),
        ("Xid 79 on GPU 3", "mentions a GPU", "error"),
        ("scheduled maintenance, GPU firmware update", "planned work", "info"),
        ("jd: ask me", "a note of the operators", "info"),
    ],
)
def test_reasons(reason: str, words: str, severity: str) -> None:
    one = found(node(reason=reason))
    assert words in one.message
    assert one.severity == severity
    assert one.fix is not None and (one.fix.command == "sinfo -R") == (severity == "info")


def test_without_a_reason_a_drain_is_only_worth_knowing() -> None:
    assert found(node("draining")).severity == "info"
    assert found(node("down")).severity == "warning"
    assert "does not answer" in found(node("idle", silent=True)).message


@pytest.mark.parametrize(
    "state",
    ["idle", "mixed", "allocated", "completing", "reserved", "maint", "planned", "powered_down", "mixed+planned"],
)
def test_nodes_in_service_are_silent(state: str) -> None:
    assert states(judge(NAME, machine(slurm_nodes=(node(state),)))) == ["pass"]


def test_a_list_of_reasons_alone() -> None:
    assert "out of service" in found(node("", "Kill task failed")).message


def test_not_applicable_without_slurm() -> None:
    assert states(judge(NAME, machine())) == ["not-applicable"]


TEXT = """Jobs with eight GPUs do not start since this morning.

$ sinfo -R
REASON               USER        TIMESTAMP           NODELIST
gres/gpu count repor slurm       2026-11-20T03:11:09 gpu02
$ scontrol show node gpu02
NodeName=gpu02 Arch=x86_64 CoresPerSocket=64
   Gres=gpu:mi300x:8(S:0-1)
   State=IDLE+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Reason=gres/gpu count reported lower than configured (7 < 8) [slurm@2026-11-20T03:11:09]
"""


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("$ ", ""), "```\n" + TEXT + "```\n"])
def test_in_pasted_text(text: str) -> None:
    diagnosis = diagnosed(text)
    assert diagnosis.causes[0].cause == "gpu-hardware-fault"
    assert diagnosis.causes[0].remedy.startswith("Look at node gpu02")
    assert "7 of 8 GPUs" in diagnosis.causes[0].message
