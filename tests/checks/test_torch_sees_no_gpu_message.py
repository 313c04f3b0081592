"""torch without a GPU after an installation by pip. The texts are constructed command lines and sessions."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.facts import TorchBuild
from tests.kit import amd_gpu, judge, k, nvidia_gpu, states, u
from tests.message_kit import finding_of, pasted, words_of

CHECK = "torch-sees-no-gpu-message"
FALSE = ">>> torch.cuda.is_available()\nFalse\n"
EXTRA = "pip install torch --extra-index-url https://download.pytorch.org/whl/rocm6.2\n"


def test_an_extra_index_lets_pypi_win() -> None:
    found = finding_of(CHECK, EXTRA + FALSE, amd_gpu())
    assert found is not None and found.severity == "warning" and "CPU" in found.message
    assert "--index-url" in words_of(found) and "torch.version.hip" in words_of(found)
    assert "without the index" in words_of(finding_of(CHECK, "pip3 install torch\n" + FALSE, amd_gpu()))


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
