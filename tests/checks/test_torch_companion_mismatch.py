from __future__ import annotations

from collections.abc import Mapping

from rocdoctor.model.facts import TorchBuild
from rocdoctor.model.finding import Verdict
from tests.kit import judge, k, machine, severities, states, u

NAME = "torch-companion-mismatch"


def verdicts(version: str, packages: Mapping[str, str], **demands: str) -> list[Verdict]:
    torch = TorchBuild(version=k(version), packages=k(packages), requires_torch=demands)
    return judge(NAME, machine(torch=torch))


def test_a_matching_set_passes() -> None:
    assert states(
        verdicts(
            "2.5.1+rocm6.2",
            {"torchvision": "0.20.1+rocm6.2", "accelerate": "1.0"},
            torchvision="torch==2.5.1",
            accelerate="torch (>=1.10.0)",
        )
    ) == ["pass"]


def test_a_violated_pin_of_torchvision_is_an_error() -> None:
    (verdict,) = verdicts("2.10.0+rocm7.1", {"torchvision": "0.20.1"}, torchvision="torch==2.5.1")
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.cause == "python-package-mismatch"
    assert verdict.finding.message == (
        "torchvision 0.20.1 was built for torch==2.5.1, and torch 2.10.0+rocm7.1 is installed: they do not match."
    )
    assert "/whl/rocm7.1" in verdict.finding.fix.command


def test_other_violated_pins_nightlies_and_mere_build_labels_are_warnings() -> None:
    assert severities(verdicts("2.10.0", {"xformers": "0.0.30"}, xformers="torch==2.7.0")) == ["warning"]
    assert severities(
        verdicts("2.10.0.dev20251101", {"torchvision": "0.25.0"}, torchvision="torch==2.10.0.dev20251030")
    ) == ["warning"]
    assert severities(verdicts("2.6.0+gitabc", {"torchvision": "0.21.0"}, torchvision="torch==2.6.0+gitdef")) == [
        "warning"
    ]


def test_builds_for_unlike_back_ends() -> None:
    assert severities(verdicts("2.5.1+rocm6.2", {"torchvision": "0.20.1+cu121"})) == ["error"]
    assert severities(verdicts("2.5.1+cu124", {"torchaudio": "2.5.1+cu118"})) == ["error"]
    assert severities(verdicts("2.5.1+rocm6.2", {"torchvision": "0.20.1+cpu"})) == ["warning"]
    assert states(verdicts("2.5.1+cu124", {"torchvision": "0.20.1+cu121"})) == ["pass"]
    assert states(verdicts("2.5.1+rocm6.2", {"torchvision": "0.20.1"})) == ["pass"]


def test_what_torch_itself_demands() -> None:
    torch = TorchBuild(version=k("2.5.1"), packages=k({"triton": "3.4.0"}), torch_requires={"triton": "==3.1.0"})
    (verdict,) = judge(NAME, machine(torch=torch))
    assert verdict.finding is not None
    assert verdict.finding.message == "torch 2.5.1 demands triton==3.1.0, and triton 3.4.0 is installed."


def test_demands_of_an_extra_or_a_platform_are_not_judged() -> None:
    assert states(verdicts("2.5.1", {"odd": "1.0"}, odd='torch<2; extra == "old"')) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(torch=TorchBuild(version=k("2.5.1"), packages=u())))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["unknown"]
    assert states(judge(NAME, machine(torch=TorchBuild(version=k(None), packages=k({}))))) == ["not-applicable"]


def test_another_library_than_torch_demands_is_a_note_where_torch_works() -> None:
    torch = TorchBuild(
        version=k("2.9.1"),
        packages=k({"nvidia-nccl-cu12": "2.28.3", "triton": "3.6.0"}),
        torch_requires={"nvidia-nccl-cu12": "==2.27.5", "triton": "==3.5.1"},
        import_error=k(None),
        device_count=k(1),
    )
    assert severities(judge(NAME, machine(torch=torch))) == ["info", "warning"]
