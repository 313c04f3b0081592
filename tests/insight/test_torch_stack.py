from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.insight.software.torch_command import install_command
from rocdoctor.insight.software.torch_stack import backend, preliminary, rocm_label, satisfies, works
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Container, TorchBuild
from tests.kit import amd_gpu, environment, judge, k, machine, nvidia_gpu, u


@pytest.mark.parametrize(
    ("version", "requirement", "answer"),
    [
        ("2.5.1+rocm6.2", "torch==2.5.1", True),
        ("2.5.1", "torch (==2.5.1)", True),
        ("2.5.0", "torch==2.5.1", False),
        ("2.5.1+rocm6.2", "torch==2.5.1+cu121", False),
        ("2.5.1", "torch==2.5", False),
        ("2.5.0", "torch==2.5", True),
        ("2.5.1", "torch==2.5.*", True),
        ("2.6.0", "torch!=2.5.*", True),
        ("2.10.0", "torch>=2.9,<3", True),
        ("2.10.0", "torch>2.9,<2.10", False),
        ("2.9.1", "torch~=2.9.0", True),
        ("2.10.0", "torch~=2.9.0", False),
        ("2.10.0", "torch~=2.9", True),
        ("2.9.0", "torch", None),
        ("2.9.0", 'torch<2; extra == "old"', None),
        ("2.10.0a0+git1234567", "torch>=2.9", None),
        ("2.10.0.dev20251101+rocm7.0", "torch==2.10.0.dev20251101", True),
        ("odd", "torch==2.5.1", None),
        ("2.9.0", "torch @ https://example.org/torch.whl", None),
    ],
)
def test_version_specifiers(version: str, requirement: str, answer: bool | None) -> None:
    assert satisfies(version, requirement) is answer


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_judged_without_an_exception(version: str, requirement: str) -> None:
    assert satisfies(version, requirement) in (True, False, None)
    assert satisfies("2.5.1", f"torch=={requirement}") in (True, False, None)


@pytest.mark.parametrize(
    ("build", "answer"),
    [
        (TorchBuild(version=k("2.9.0+rocm6.4"), hip=k("6.4.43482"), cuda=k(None)), "rocm"),
        (TorchBuild(version=k("2.9.0"), hip=k(None), cuda=k("12.8")), "cuda"),
        (TorchBuild(version=k("2.9.0+cu128")), "cuda"),
        (TorchBuild(version=k("2.9.0+cpu")), "cpu"),
        (TorchBuild(version=k("2.9.0+xpu"), hip=k(None), cuda=k(None)), "xpu"),
        (TorchBuild(version=k("2.6.0"), hip=k(None), cuda=k(None)), "cpu"),
    ],
)
def test_the_back_end_of_a_build(build: TorchBuild, answer: str) -> None:
    fact = backend(build)
    assert isinstance(fact, Known) and fact.value == answer


def test_a_version_from_pypi_alone_tells_no_back_end() -> None:
    assert not isinstance(backend(TorchBuild(version=k("2.9.0"))), Known)


def test_labels_and_preliminary_versions() -> None:
    assert rocm_label(TorchBuild(version=k("2.7.1+rocm6.2.4"))) == "6.2.4"
    assert rocm_label(TorchBuild(version=k("2.7.1+cu128"))) is None
    assert preliminary("2.10.0.dev20251101") and preliminary("2.6.0a0+git1")
    assert not preliminary("2.9.1+rocm6.4") and not preliminary("2.9.1.post1")


def test_a_command_for_torch_is_given_where_it_is_known_that_it_brings_one() -> None:
    named = nvidia_gpu(compute_capability="8.9")
    for gpu, python, index in (
        (named, "3.12.3", "cu128"),
        (named, "3.8.10", ""),  # no release is published for it
        (nvidia_gpu(compute_capability=u()), "3.12.3", ""),  # which build has code for it is not known
    ):
        told = TorchBuild(version=k(None), python=k(python))
        command = str(install_command(machine(gpu, torch=told), gpu))
        assert command.endswith(index) if index else command == "", command


def test_torch_works_where_it_was_imported_and_counts_gpus() -> None:
    seen = TorchBuild(version=k("2.9.1"), hip=k("6.4.1"), cuda=k(None), import_error=k(None), device_count=k(2))
    assert works(machine(torch=seen)) and works(machine(torch=seen), "rocm")
    assert not works(machine(torch=seen), "cuda")
    assert not works(machine(torch=replace(seen, device_count=k(0))))
    assert not works(machine(torch=replace(seen, import_error=k("ImportError: no"))))
    assert not works(machine(torch=TorchBuild(device_count=k(2))))


def test_no_error_over_an_interpreter_that_was_only_guessed() -> None:
    cpu = TorchBuild(interpreter=k("/usr/bin/python3"), version=k("2.9.0+cpu"), hip=k(None), cuda=k(None))
    bare = Container(kind=k("none"))

    def severity(torch: TorchBuild, container: Container, variables: dict[str, str], complete: bool = True) -> str:
        of = machine(amd_gpu(), torch=torch, container=container, environment=environment(variables, complete))
        (verdict,) = judge("torch-cpu-only-build", of)
        assert verdict.finding is not None
        assert ("--python" in verdict.finding.message) == (verdict.finding.severity == "warning")
        return verdict.finding.severity

    assert severity(cpu, bare, {}) == "warning"
    assert severity(cpu, bare, {"VIRTUAL_ENV": "~/env"}) == "error"
    assert severity(replace(cpu, interpreter=k("~/env/bin/python")), bare, {}) == "error"
    assert severity(cpu, Container(kind=k("docker")), {}) == "error"
    # What a report states is the job's own.
    assert severity(cpu, bare, {}, complete=False) == "error"
