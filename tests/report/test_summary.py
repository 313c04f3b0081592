"""A GPU in a line, as far as it is known."""

from __future__ import annotations

import pytest

from rocdoctor.model.facts import Gpu
from rocdoctor.report.machine.summary import gpu_words
from tests.kit import k


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        # RX 7900 XTX, XT, GRE and others share 744c; the revision tells them apart.
        (Gpu(0, "amd", pci_id=k("1002:744c")), "AMD GPU 1002:744c (Navi 31)"),
        (Gpu(0, "amd", pci_id=k("1002:744c"), gfx=k("gfx1100")), "AMD GPU 1002:744c (Navi 31), gfx1100"),
        (Gpu(0, "amd", gfx=k("gfx1100")), "AMD GPU (Navi 31), gfx1100"),
        (Gpu(0, "amd", pci_id=k("1002:67df")), "AMD GPU 1002:67df"),  # the table has two chips of this target
        (Gpu(0, "amd", pci_id=k("1002:ffff")), "AMD GPU 1002:ffff"),
        (Gpu(0, "nvidia", pci_id=k("10de:744c")), "NVIDIA GPU 10de:744c"),
        (Gpu(0, "amd", pci_id=k("1002:744c"), name=k("AMD Radeon RX 7900 XTX")), "AMD Radeon RX 7900 XTX"),
    ],
)
def test_a_gpu_without_a_name_is_called_by_its_chip_where_that_is_known(gpu: Gpu, words: str) -> None:
    assert gpu_words(gpu) == words
