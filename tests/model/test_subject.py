"""What verdicts are about: the label of each kind, and its name behind a mask."""

from __future__ import annotations

import pytest

from rocdoctor.model.evidence import Unknown
from rocdoctor.model.subject import MACHINE, Subject
from tests.kit import amd_gpu, nvidia_gpu


@pytest.mark.parametrize(
    ("subject", "label"),
    [
        (MACHINE, "machine"),
        (Subject("gpu", 3, "0000:6a:00.0"), "gpu 3 (0000:6a:00.0)"),
        (Subject("gpu", 0, name="nvidia-smi 6"), "gpu 0 (nvidia-smi 6)"),
        (Subject("gpu", 0), "gpu 0"),
        (Subject("device", address="0000:dd:00.0"), "device 0000:dd:00.0"),
        (Subject("pci-device", address="0000:01:00.0"), "PCI device 0000:01:00.0"),
        (Subject("nic", name="mlx5_1"), "mlx5_1"),
        (Subject("node", name="n[1-4]"), "node n[1-4]"),
        (Subject("job"), "job"),
        (Subject("process", 100), "process 100"),
        (Subject("file", 7, name="a dir/run.sh"), "a dir/run.sh:7"),
        (Subject("file", name="run.sh"), "run.sh"),
        (Subject("files"), "files"),
    ],
)
def test_each_kind_has_its_label(subject: Subject, label: str) -> None:
    assert subject.label == str(subject) == label


def test_a_gpu_is_named_by_its_address_or_by_the_number_of_its_tool() -> None:
    assert amd_gpu(1).subject == Subject("gpu", 1, "0000:43:00.0")
    away = Unknown("nobody asked")
    assert nvidia_gpu(1, bdf=away, smi_index=4).subject == Subject("gpu", 1, name="nvidia-smi 4")
    assert amd_gpu(1, bdf=away, smi_index=1).subject == Subject("gpu", 1)


def test_a_name_is_masked_as_it_stands_in_the_label() -> None:
    def mask(text: str) -> str:
        return text.replace("node gpu17", "node host-1")  # the word in front tells what it is

    assert Subject("node", name="gpu17").named(mask) == Subject("node", name="host-1")
    assert Subject("nic", name="gpu17").named(mask) == Subject("nic", name="gpu17")
    assert Subject("gpu", 1, "0000:43:00.0").named(mask) == Subject("gpu", 1, "0000:43:00.0")
