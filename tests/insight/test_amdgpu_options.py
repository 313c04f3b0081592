from __future__ import annotations

import pytest

from rocdoctor.insight.software.amdgpu_options import is_risky, option
from rocdoctor.knowledge.lookup import module_parameter
from rocdoctor.model.evidence import NotKnown
from rocdoctor.model.facts import Kernel
from tests.kit import k, machine


@pytest.mark.parametrize(
    ("name", "value", "risky"),
    [
        ("gpu_recovery", "-1", False),
        ("gpu_recovery", "1", False),
        ("gpu_recovery", "0", True),
        ("cwsr_enable", "1", False),
        ("cwsr_enable", "0", True),
        ("pcie_p2p", "Y", False),
        ("pcie_p2p", "N", True),
        ("halt_if_hws_hang", "0", False),
        ("halt_if_hws_hang", "1", True),
        ("ip_block_mask", "4294967295", False),
        ("ip_block_mask", "0xffffffff", False),
        ("ip_block_mask", "0xff", True),
        ("vramlimit", "-1", False),
        ("vramlimit", "0", False),
        ("vramlimit", "4096", True),
        ("disable_cu", "(null)", False),
        ("disable_cu", "0.0.1", True),
        ("ip_block_mask", "junk", False),
    ],
)
def test_the_risky_side_of_a_parameter(name: str, value: str, risky: bool) -> None:
    parameter = module_parameter("amdgpu", name)
    assert parameter is not None
    assert is_risky(parameter, value) is risky


def test_the_value_in_effect_comes_before_the_command_line() -> None:
    given = k({"amdgpu.dpm": "0"})
    live = Kernel(module_parameters={"amdgpu": {"dpm": "1"}}, parameters=given)
    assert option(machine(kernel=live), "dpm")[0] == "1"
    assert option(machine(kernel=Kernel(parameters=given)), "dpm")[0] == "0"
    assert option(machine(kernel=live), "msi")[0] == ""
    with pytest.raises(NotKnown):
        option(machine(), "dpm")
