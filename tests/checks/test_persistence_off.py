from __future__ import annotations

from rocdoctor.model.facts import Container
from tests.kit import judge, k, machine, nvidia_gpu, severities, states, u

NAME = "persistence-off"


def test_on_everywhere_passes() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(0, persistence=True), nvidia_gpu(1, persistence=True)))) == ["pass"]


def test_off_on_a_server_is_worth_knowing_with_the_count() -> None:
    for second, words in ((False, "all 2"), (True, "1 of 2")):
        (verdict,) = judge(NAME, machine(nvidia_gpu(0, persistence=False), nvidia_gpu(1, persistence=second)))
        assert verdict.finding is not None and verdict.finding.severity == "info"
        assert words in verdict.finding.message


def test_inside_a_container_the_service_is_that_of_the_host() -> None:
    gpus = (nvidia_gpu(0, persistence=False), nvidia_gpu(1, persistence=False))
    (verdict,) = judge(NAME, machine(*gpus, container=Container(kind=k("docker"))))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert "host" in verdict.finding.fix.text


def test_desktops_and_single_gpus_are_not_judged() -> None:
    for name in ("NVIDIA GeForce RTX 4090", "NVIDIA RTX A4000", "Quadro RTX 6000", "NVIDIA TITAN V"):
        gpus = (nvidia_gpu(0, name=name, persistence=False), nvidia_gpu(1, name=name, persistence=False))
        assert states(judge(NAME, machine(*gpus))) == ["not-applicable"], name
    assert states(judge(NAME, machine(nvidia_gpu(persistence=False)))) == ["not-applicable"]


def test_server_parts_are_known_by_their_names() -> None:
    for name in ("Tesla K80", "Tesla T4", "NVIDIA A100-SXM4-40GB", "NVIDIA A10G", "NVIDIA L40S", "NVIDIA B200"):
        gpus = (nvidia_gpu(0, name=name, persistence=False), nvidia_gpu(1, name=name, persistence=False))
        assert severities(judge(NAME, machine(*gpus))) == ["info"], name


def test_unread_is_unknown() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(0, persistence=u()), nvidia_gpu(1, persistence=u())))) == ["unknown"]
