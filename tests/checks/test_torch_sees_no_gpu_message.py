"""torch without a GPU after an installation by pip. The texts are constructed command lines and sessions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.model.facts import TorchBuild
from tests.kit import amd_gpu, judge, k, nvidia_gpu, states, u
from tests.message_kit import finding_of, pasted, words_of
from tests.text_kit import first_cause

CHECK = "torch-sees-no-gpu-message"
FALSE = ">>> torch.cuda.is_available()\nFalse\n"
EXTRA = "pip install torch --extra-index-url https://download.pytorch.org/whl/rocm6.2\n"


def test_an_extra_index_lets_pypi_win() -> None:
    found = finding_of(CHECK, EXTRA + FALSE, amd_gpu())
    assert found is not None and found.severity == "warning" and "CPU" in found.message
    assert "--index-url" in words_of(found) and "torch.version.hip" in words_of(found)
    assert "without the index" in words_of(finding_of(CHECK, "pip3 install torch\n" + FALSE, amd_gpu()))


def test_the_index_has_wheels_for_the_python_of_the_text_or_none_is_named() -> None:
    card = amd_gpu(gfx=u())
    for python, command in (("3.8.10", "rocm6.1"), ("3.7.4", "")):
        found = finding_of(CHECK, EXTRA + FALSE, card, torch=TorchBuild(python=k(python)))
        assert found is not None and found.fix is not None
        assert command in found.fix.command and bool(command) == bool(found.fix.command), python
        assert ("another Python" in found.fix.text) == (not command)


def test_the_right_index_and_known_builds_are_not_accused() -> None:
    right = "pip install torch --index-url https://download.pytorch.org/whl/rocm6.2\n" + FALSE
    assert states(judge(CHECK, pasted(right, amd_gpu()))) == ["pass"]
    of = pasted(EXTRA + FALSE, amd_gpu(), torch=replace(TorchBuild(), version=k("2.5.0+rocm6.2")))
    assert states(judge(CHECK, of)) == ["not-applicable"]
    assert states(judge(CHECK, pasted(EXTRA + FALSE, nvidia_gpu()))) == ["not-applicable"]
    assert states(judge(CHECK, pasted("torch.cuda.is_available() -> True", amd_gpu()))) == ["not-applicable"]


def test_a_cpu_build_beside_a_card_that_only_the_text_names() -> None:
    torch = TorchBuild(version=k("2.6.0+cpu"), hip=k(None), cuda=k(None))
    text = "torch.cuda.is_available() False"
    card = amd_gpu(1, gfx="gfx1102", integrated=False, driver=u())
    found = finding_of("torch-sees-no-gpu-message", text, card, torch=torch)
    assert found is not None
    assert "2.6.0+cpu is a CPU-only build" in found.message
    inside = amd_gpu(1, gfx="gfx1036", integrated=True, driver=u())
    assert finding_of("torch-sees-no-gpu-message", text, inside, torch=torch) is None
    assert finding_of("torch-sees-no-gpu-message", text, amd_gpu(1), torch=torch) is None  # another check judges it


def test_a_build_for_another_vendor_beside_a_card_of_unknown_driver() -> None:
    torch = TorchBuild(version=k("2.4.1+cu124"), hip=k(None), cuda=k("12.4"))
    text = "RuntimeError: Torch is not able to use GPU; add --skip-torch-cuda-test to COMMANDLINE_ARGS variable"
    found = finding_of(CHECK, text, amd_gpu(gfx="gfx1101", driver=u()), torch=torch)
    assert (
        found is not None and "2.4.1+cu124 is a CUDA build" in found.message and "needs a ROCm build" in found.message
    )
    assert finding_of(CHECK, text, amd_gpu(gfx="gfx1101", driver=u()), nvidia_gpu(1, driver=u()), torch=torch) is None
    assert finding_of(CHECK, text, nvidia_gpu(driver=u()), torch=torch) is None


@pytest.mark.parametrize(
    "listing",
    [
        "$ ./env/bin/pip list | grep torch\n{rows}",
        "$ source ~/sd/venv/bin/activate && pip list | grep -i torch\n{rows}",
        "me@box:~$ uv run pip list | grep torch\n{rows}",
        "~/sd/venv/bin/pip list | grep torch\n{rows}",
        "the packages are\n\n{rows}",
        "$ venv/bin/python -m pip freeze | grep torch\n{frozen}",
    ],
)
def test_packages_of_an_environment_beside_an_amd_card(listing: str) -> None:
    rows = "torch                     2.4.1+cu124\ntorchaudio                2.4.1+cu124\n"
    card = "$ lspci | grep VGA\n03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] {} (rev c8)\n"
    text = listing.format(rows=rows, frozen="torch==2.4.1+cu124\n") + "\n" + card.format("Navi 32 [Radeon RX 7800 XT]")
    assert first_cause(text) == "wrong-backend-build"
    both = text + "04:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)\n"
    assert first_cause(both) != "wrong-backend-build"
    right = text.replace("cu124", "rocm6.1")
    assert first_cause(right) is None


def test_a_release_without_a_label_is_probably_that_of_pypi() -> None:
    listed = "torch 2.5.1\n"
    card = amd_gpu(gfx="gfx1030", driver=u())
    found = finding_of(CHECK, FALSE + listed, card, torch=TorchBuild(version=k("2.5.1")))
    assert found is not None and found.confidence == "possible" and "PyPI" in found.message
    for version in ("2.5.1+rocm6.2", "2.5.0a0+git123", "2.5.1.post2"):
        assert finding_of(CHECK, FALSE, card, torch=TorchBuild(version=k(version))) is None, version
    assert finding_of(CHECK, FALSE, nvidia_gpu(driver=u()), torch=TorchBuild(version=k("2.5.1"))) is None


def test_what_is_only_probable_does_not_speak_over_what_is_shown() -> None:
    listed = f"I have an RX 7900 XTX and torch does not see it.\n$ pip list\ntorch 2.9.0\n{FALSE}"
    denied = (
        "$ rocminfo\nROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n"
        'user is not member of "render" group, the default DRM access group.\n'
    )
    assert first_cause(listed) == "wrong-backend-build"
    assert first_cause(listed + denied) == "device-permission"


def test_a_build_for_cuda_beside_a_radeon_that_trouble_is_told_of() -> None:
    told = "PyTorch version: 2.5.1+cu124\nCUDA used to build PyTorch: 12.4\n"
    assert first_cause(f"I have an RX 6800 XT and torch does not see it.\n```\n{told}```\n") == "wrong-backend-build"
    assert first_cause(f"I have an RX 6800 XT and an RTX 3060, torch does not see one of them.\n{told}") is None
    assert first_cause(f"I have an RX 6800 XT. How large is the wheel?\n{told}") is None
