from __future__ import annotations

from rocdoctor.model.facts import TorchBuild
from tests.kit import judge, k, machine, severities, states

NAME = "torch-duplicates"


def test_one_of_each_passes() -> None:
    assert states(judge(NAME, machine(torch=TorchBuild(packages=k({"torch": "2.9.0", "triton": "3.5.0"}))))) == ["pass"]


def test_a_second_torch_is_a_warning() -> None:
    torch = TorchBuild(packages=k({"torch": "2.9.0"}), shadowed=("torch is installed more than once",))
    (verdict,) = judge(NAME, machine(torch=torch))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.message.startswith("torch is installed more than once")
    assert verdict.finding.fix.command == "python3 -m pip uninstall torch"


def test_a_local_folder_called_torch_is_a_warning_and_one_called_datasets_is_not() -> None:
    torch = TorchBuild(packages=k({}), shadowed=("/home/user-1/src/torch hides torch",))
    (verdict,) = judge(NAME, machine(torch=torch))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "hides the installed torch" in verdict.finding.message
    assert "/home" not in verdict.finding.message
    folder = TorchBuild(packages=k({}), shadowed=("./datasets hides datasets",))
    assert severities(judge(NAME, machine(torch=folder))) == ["info"]


def test_packages_twice_in_an_environment_over_the_systems_are_only_worth_knowing() -> None:
    torch = TorchBuild(packages=k({"numpy": "2.1.0"}), shadowed=("numpy is installed more than once",))
    assert severities(judge(NAME, machine(torch=torch))) == ["info"]


def test_two_packages_that_bring_triton_are_a_warning() -> None:
    torch = TorchBuild(packages=k({"triton": "3.5.0", "pytorch-triton-rocm": "3.4.0"}))
    (verdict,) = judge(NAME, machine(torch=torch))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "triton 3.5.0 and pytorch-triton-rocm 3.4.0" in verdict.finding.message


def test_unread_packages_are_unknown() -> None:
    assert states(judge(NAME, machine())) == ["unknown"]


def test_an_environment_over_a_systems_torch_that_works_is_a_note() -> None:
    torch = TorchBuild(
        packages=k({"torch": "2.9.0"}),
        shadowed=("torch is installed more than once", "/src/torch hides torch"),
        import_error=k(None),
        device_count=k(1),
    )
    assert severities(judge(NAME, machine(torch=torch))) == ["info", "warning"]
