from __future__ import annotations

from rocdoctor.insight.gpus.gfx_override import best_value, override_of, physical_gfx
from rocdoctor.model.evidence import Known
from tests.kit import amd_gpu, environment, k, machine, u


def test_the_form_with_the_node_number_comes_first() -> None:
    both = environment({"HSA_OVERRIDE_GFX_VERSION": "11.0.0", "HSA_OVERRIDE_GFX_VERSION_2": "9.0.10"})
    fact = override_of(machine(amd_gpu(kfd_node=2), environment=both), amd_gpu(kfd_node=2))
    assert isinstance(fact, Known) and fact.value is not None
    assert fact.value.target == "gfx90a"
    fact = override_of(machine(amd_gpu(kfd_node=3), environment=both), amd_gpu(kfd_node=3))
    assert isinstance(fact, Known) and fact.value is not None
    assert fact.value.target == "gfx1100"


def test_the_kernel_is_believed_and_the_runtime_only_without_an_override() -> None:
    set_ = environment({"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    kernel = amd_gpu(gfx=k("gfx1030", "read /sys/class/kfd/kfd/topology/nodes/1/properties"), pci_id=u())
    assert physical_gfx(machine(kernel, environment=set_), kernel) == kernel.gfx
    runtime = amd_gpu(gfx=k("gfx1030", "run rocminfo"), pci_id=u())
    assert not isinstance(physical_gfx(machine(runtime, environment=set_), runtime), Known)
    assert physical_gfx(machine(runtime, environment=environment({})), runtime) == runtime.gfx


def test_the_value_of_the_own_group_with_wheel_code() -> None:
    assert best_value("gfx1031") == "10.3.0"
    assert best_value("gfx1036") == "10.3.0"
    assert best_value("gfx90c") == "9.0.0"
    assert best_value("gfx1100") is None  # has code of its own
    assert best_value("gfx1103") is None  # faults are on record for its partners
    assert best_value("gfx1010") is None  # no member of its group has code
    assert best_value("odd") is None
