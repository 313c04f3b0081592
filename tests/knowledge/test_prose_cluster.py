"""Reports of clusters, containers and servers in the words of people: the first cause, and what is no report."""

from __future__ import annotations

import pytest

from rocdoctor.insight.texts.answers import applied
from tests.message_kit import pasted

_REPORTS = [
    ("Training with DDP on two GPUs freezes at the first step, NCCL. One GPU works.", "iommu-acs-p2p"),
    ("Three cards hang. With NCCL_P2P_DISABLE=1 the job runs.", "iommu-acs-p2p"),
    ("NCCL on 8 GPUs hangs when the checkpoint is saved, only rank 0 saves it. One GPU works.", "not-environment"),
    ("A tensor that goes from cuda:0 to cuda:1 holds zeros. Via the CPU the copy is right.", "iommu-acs-p2p"),
    ("SCLK is stuck around 60 MHz under full load.", "thermal-or-power-limit"),
    ("Two machines: the job waits forever. Within one node it runs.", "network-interface-wrong"),
    ("Two hosts hang. With NCCL_IB_DISABLE=1 it runs, slowly.", "network-interface-wrong"),
    ("On two nodes each step takes 8 times as long as on one.", "network-interface-wrong"),
    (
        "Two servers with a docker container on each: the broadcast fails, Connection refused.",
        "network-interface-wrong",
    ),
    ("Two nodes, the second one connects after we disabled the firewall.", "rendezvous-name-resolution"),
    ("torchrun --nnodes=2 --master_addr=localhost on both nodes.", "rendezvous-name-resolution"),
    ("nvidia-smi works on the host. In the container torch finds no GPU.", "container-device-access"),
    ("After some hours the pod loses the GPU, a restart of it helps.", "container-device-access"),
    ("The node shows no nvidia.com/gpu under Capacity.", "container-device-access"),
    ("Under Slurm all jobs run on GPU 0.", "visible-devices-conflict"),
    ("I have 64 cores and only one is used, the GPUs wait for the training data.", "cpu-affinity-or-threads"),
    ("Whenever both cards train, the workstation reboots.", "thermal-or-power-limit"),
    ("lspci and nvidia-smi: one GPU is missing since the night.", "gpu-hardware-fault"),
    ("Tensor parallel is slow, the second GPU is connected over an x4 slot.", "pcie-link-degraded"),
    ("MI60 in a VM: rocminfo is empty. On bare metal it works.", "pcie-atomics-missing"),
    ("A100-SXM4: nvidia-smi works, torch.cuda.is_available() is False.", "fabric-manager-down"),
]
_NO_REPORTS = [
    "Proposal: with two nodes, print which rank is missing when a job hangs.",
    "Release notes: fixed a hang when two nodes join at once. One GPU works without NCCL now.",
    "After the server was rebooted the training on both GPUs went on.",
    "We train on two nodes with 8 GPUs each and reach 92 % of linear scaling.",
    "The container works on my machine, and on the host as well.",
    "Two GPUs and a tokenizer: which batch size do I need?",
    "At idle the clock stays at 210 MHz, under load it is 1980 MHz.",
    "The data is on NFS and the GPUs are at 98 %.",
    "NCCL_P2P_DISABLE=1 did not help with the hang of one GPU.",
]


@pytest.mark.parametrize(("text", "cause"), _REPORTS)
def test_a_report_leads_to_its_cause(text: str, cause: str) -> None:
    found = [one.answer for one in applied(pasted(text))]
    assert found and found[0].cause == cause
    assert {one.confidence for one in found} <= {"possible", "likely"}


@pytest.mark.parametrize("text", _NO_REPORTS)
def test_what_is_no_report_leads_nowhere(text: str) -> None:
    assert [one.kind for one in applied(pasted(text))] == []
