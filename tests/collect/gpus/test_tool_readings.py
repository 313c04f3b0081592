"""Names that readers of GPU tools give to values: those of facts, or of what a fact is made of."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from rocdoctor.collect.gpus import amd_tools, drivers
from rocdoctor.collect.gpus.records import GpuRecord
from rocdoctor.collect.gpus.tools import amd_smi, nvidia_smi
from rocdoctor.model.evidence import Known, Source
from rocdoctor.model.facts import Gpu
from rocdoctor.parsers.amd.amd_smi_fields import FIELDS as AMD_SMI
from rocdoctor.parsers.amd.rocm_smi_keys import FIELDS as ROCM_SMI
from rocdoctor.parsers.formats.gpu_reading import GpuReading
from rocdoctor.parsers.nvidia.nvidia_fields import FIELDS as NVIDIA

_FACTS = {one.name for one in fields(Gpu)}
_NAMES = {
    "nvidia-smi": ({name for name, _, _ in NVIDIA}, nvidia_smi),
    "amd-smi": (set(AMD_SMI), amd_tools),
    "rocm-smi": ({name for name, _ in ROCM_SMI.values()}, amd_tools),
}


@pytest.mark.parametrize("tool", _NAMES)
def test_every_name_is_that_of_a_fact_or_is_read_by_name(tool: str) -> None:
    names, reader = _NAMES[tool]
    text = Path(reader.__file__ or "").read_text(encoding="utf-8")
    shared = Path(drivers.__file__ or "").read_text(encoding="utf-8")
    made = {name for name in names if name.partition(".")[0] not in _FACTS}
    parts = {name.replace("single", "{kind}").replace("double", "{kind}") for name in made}
    assert not [name for name in parts if f'"{name}"' not in text + shared]
    assert len(names - made) > 15


def test_a_record_takes_facts_with_their_lines_and_leaves_the_rest() -> None:
    gpu = GpuReading(7)
    gpu.put("vram_bytes", 1 << 30, 9)
    gpu.put("power.now_w", 12.5, 11)
    gpu.put("temps_c", {"edge": 40.0}, 12)
    gpu.put("vram_bytes", 5, 99)
    record = GpuRecord(amd_smi.SOURCE, "amd")
    record.take(gpu, "run amd-smi static")
    source = "run amd-smi static"
    assert record.facts == {
        "vram_bytes": Known(1 << 30, Source(source, 9)),
        "power.now_w": Known(12.5, Source(source, 11)),
    }
    assert gpu.line_of("temps_c") == 12 and gpu.line_of("name") == 7


def test_values_by_part_are_put_together() -> None:
    gpu = GpuReading(1)
    gpu.put("temps_c", {"edge": 40.0}, 2)
    gpu.put("temps_c", {"edge": 99.0, "junction": 50.0}, 3)
    gpu.put("name", None, 4)
    assert gpu.get("temps_c") == {"edge": 40.0, "junction": 50.0} and gpu.get("name") is None
    for number in range(5000):
        gpu.put(f"clocks_mhz.{number}", 1.0, 1)
        gpu.put("temps_c", {str(number): 1.0}, 1)
    assert len(gpu.values) < 3000 and len(gpu.get("temps_c")) < 300
