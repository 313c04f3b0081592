from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.model.facts import Environment, Gpu, Machine, TorchBuild, Variable
from tests.kit import amd_gpu, environment, judge, k, machine, severities, states, u
from tests.message_kit import messages

NAME = "gfx-override-mismatch"
GLOBAL = "HSA_OVERRIDE_GFX_VERSION"


def gpu(gfx: str, index: int = 0, **more: object) -> Gpu:
    return amd_gpu(index, gfx=gfx, pci_id=u(), **more)


def test_the_value_of_another_family_is_an_error_that_names_both_targets() -> None:
    (verdict,) = judge(NAME, machine(gpu("gfx942"), environment=environment({GLOBAL: "10.3.0"})))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.cause == "hsa-override-wrong"
    assert verdict.finding.message.startswith(
        "This GPU is gfx942, but HSA_OVERRIDE_GFX_VERSION makes it run code for gfx1030"
    )
    assert verdict.finding.fix.command == "unset HSA_OVERRIDE_GFX_VERSION"
    assert [one.value for one in verdict.finding.evidence] == ["gfx942", "HSA_OVERRIDE_GFX_VERSION=10.3.0"]


def test_the_fix_names_the_value_of_the_cards_own_group() -> None:
    (verdict,) = judge(NAME, machine(gpu("gfx1031"), environment=environment({GLOBAL: "11.0.0"})))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.severity == "error"
    assert "HSA_OVERRIDE_GFX_VERSION=10.3.0" in verdict.finding.fix.text


@pytest.mark.parametrize("value", ["10.3", "gfx1030", "10.3.0 ", "1030", "10.3.0;11.0.0", "64.0.0", "9.0.a", ""])
def test_a_malformed_value_is_an_error_because_the_runtime_does_not_start(value: str) -> None:
    (verdict,) = judge(NAME, machine(gpu("gfx1030"), environment=environment({GLOBAL: value})))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "refuses to start" in verdict.finding.message


def test_the_real_value_is_silent() -> None:
    assert states(judge(NAME, machine(gpu("gfx942"), environment=environment({GLOBAL: "9.4.2"})))) == ["pass"]
    assert states(judge(NAME, machine(gpu("gfx90a"), environment=environment({GLOBAL: "9.0.10"})))) == ["pass"]


def test_a_common_value_within_the_group_is_only_worth_knowing() -> None:
    assert severities(judge(NAME, machine(gpu("gfx1031"), environment=environment({GLOBAL: "10.3.0"})))) == ["info"]
    assert severities(judge(NAME, machine(gpu("gfx1102"), environment=environment({GLOBAL: "11.0.0"})))) == ["info"]


def test_a_pair_with_faults_on_record_says_so() -> None:
    (verdict,) = judge(NAME, machine(gpu("gfx1102"), environment=environment({GLOBAL: "11.0.0"})))
    assert verdict.finding is not None
    assert "faults are on record" in verdict.finding.message


def test_on_unlike_gpus_the_fix_names_the_form_with_the_node_number() -> None:
    of = machine(gpu("gfx1031", kfd_node=1), gpu("gfx1100", 1, kfd_node=2), environment=environment({GLOBAL: "11.0.0"}))
    first, second = judge(NAME, of)
    assert second.state == "pass"
    assert first.finding is not None and first.finding.fix is not None
    assert "HSA_OVERRIDE_GFX_VERSION_1=10.3.0" in first.finding.fix.text


def test_in_an_excerpt_nothing_is_certain() -> None:
    (verdict,) = judge(NAME, machine(gpu("gfx942"), environment=environment({GLOBAL: "10.3.0"}, False)))
    assert verdict.finding is not None and verdict.finding.confidence == "likely"
    (verdict,) = judge(NAME, machine(gpu("gfx942"), environment=environment({GLOBAL: "10.3"}, False)))
    assert verdict.finding is not None and verdict.finding.confidence == "likely"
    (verdict,) = judge(NAME, machine(gpu("gfx942"), environment=environment({GLOBAL: "10.3.0"})))
    assert verdict.finding is not None and verdict.finding.confidence == "certain"


def test_a_target_that_the_tables_lack_is_unknown() -> None:
    assert states(judge(NAME, machine(gpu("gfx1399"), environment=environment({GLOBAL: "10.3.0"})))) == ["unknown"]


def test_a_needless_override_is_a_warning() -> None:
    torch = TorchBuild(version=k("2.9.0+rocm6.4"), arch_list=k(("gfx1100", "gfx1101", "gfx1102")))
    of = machine(gpu("gfx1101"), torch=torch, environment=environment({GLOBAL: "11.0.0"}))
    (verdict,) = judge(NAME, of)
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "although the installed torch has code for gfx1101" in verdict.finding.message


@pytest.mark.parametrize(("gfx", "value"), [("gfx1103", "11.9.9"), ("gfx942", "9.4.1"), ("gfx942", "9.4.0")])
def test_a_target_that_runtimes_may_not_know_is_a_warning(gfx: str, value: str) -> None:
    assert severities(judge(NAME, machine(gpu(gfx), environment=environment({GLOBAL: value})))) == ["warning"]


def test_of_unlike_gpus_only_the_broken_one_is_accused() -> None:
    of = machine(gpu("gfx1031"), gpu("gfx1100", 1), environment=environment({GLOBAL: "10.3.0"}))
    first, second = judge(NAME, of)
    assert first.finding is not None and first.finding.severity == "info"
    assert second.finding is not None and second.finding.severity == "error"


def test_an_integrated_gpu_beside_a_discrete_one_is_no_fault_unless_it_is_used() -> None:
    of = machine(gpu("gfx1100"), gpu("gfx1036", 1, integrated=True), environment=environment({GLOBAL: "11.0.0"}))
    assert states(judge(NAME, of)) == ["pass", "fail"]
    assert severities(judge(NAME, of)) == ["info"]
    first = gpu("gfx1036", 1, integrated=True, hip_index=k(0))
    assert severities(judge(NAME, machine(gpu("gfx1100"), first, environment=environment({GLOBAL: "11.0.0"})))) == [
        "warning"
    ]


def test_a_global_value_for_unlike_cards_is_named_so() -> None:
    of = machine(gpu("gfx1031", kfd_node=1), gpu("gfx1100", 1, kfd_node=2), environment=environment({GLOBAL: "10.3.0"}))
    second = judge(NAME, of)[1]
    assert second.finding is not None and second.finding.fix is not None
    assert second.finding.cause == "mixed-gpu-archs"
    assert "it fits gpu 0" in second.finding.message and "(gfx1031), but makes this gfx1100" in second.finding.message
    assert second.finding.fix.command == "unset HSA_OVERRIDE_GFX_VERSION; export HSA_OVERRIDE_GFX_VERSION_1=10.3.0"
    assert "hsa-override-wrong" in second.finding.explains


def test_with_code_for_every_card_none_needs_an_override() -> None:
    torch = TorchBuild(version=k("2.9.0+rocm6.4"), arch_list=k(("gfx1030", "gfx1100")))
    of = machine(gpu("gfx1030"), gpu("gfx1100", 1), torch=torch, environment=environment({GLOBAL: "10.3.0"}))
    second = judge(NAME, of)[1]
    assert second.finding is not None and second.finding.fix is not None
    assert second.finding.cause == "mixed-gpu-archs"
    assert second.finding.fix.command == "unset HSA_OVERRIDE_GFX_VERSION"
    assert "HSA_OVERRIDE_GFX_VERSION_<KFD node>" in second.finding.fix.text


@pytest.mark.parametrize("other", [{"driver": "vfio-pci"}, {"integrated": True}])
def test_a_value_that_fits_only_a_gpu_that_is_not_used_is_plainly_wrong(other: dict[str, Any]) -> None:
    of = machine(gpu("gfx1031", **other), gpu("gfx1100", 1), environment=environment({GLOBAL: "10.3.0"}))
    second = judge(NAME, of)[1]
    assert second.finding is not None and second.finding.cause == "hsa-override-wrong"


def test_a_value_that_fits_no_card_is_plainly_wrong() -> None:
    of = machine(gpu("gfx906"), gpu("gfx1100", 1), environment=environment({GLOBAL: "10.3.0"}))
    assert {one.finding.cause for one in judge(NAME, of) if one.finding} == {"hsa-override-wrong"}


def test_a_global_value_where_the_nodes_are_not_known_says_how_to_find_them() -> None:
    pair = (gpu("gfx1031", kfd_node=u()), gpu("gfx1100", 1, kfd_node=u()))
    second = judge(NAME, machine(*pair, environment=environment({GLOBAL: "10.3.0"}, False)))[1]
    assert second.finding is not None and second.finding.fix is not None
    assert "HSA_OVERRIDE_GFX_VERSION_NODE=10.3.0" in second.finding.fix.text
    assert "gfx_target_version" in second.finding.fix.text
    assert second.finding.confidence == "likely"


def test_the_form_with_a_node_number_holds_for_its_gpu_alone() -> None:
    by_node = environment({f"{GLOBAL}_3": "10.3.0"})
    of = machine(gpu("gfx90a", kfd_node=2), gpu("gfx1031", 1, kfd_node=3), environment=by_node)
    assert states(judge(NAME, of)) == ["pass", "fail"]
    assert severities(judge(NAME, of)) == ["info"]
    both = environment({GLOBAL: "11.0.0", f"{GLOBAL}_2": "9.0.10"})
    assert states(judge(NAME, machine(gpu("gfx90a", kfd_node=2), environment=both))) == ["pass"]
    assert states(judge(NAME, machine(gpu("gfx90a", kfd_node=u()), environment=by_node))) == ["unknown"]


def test_the_file_that_sets_it_is_named() -> None:
    variable = Variable(GLOBAL, "10.3.0", "read /etc/environment", 3)
    (verdict,) = judge(NAME, machine(gpu("gfx942"), environment=Environment({GLOBAL: variable}, True)))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert "/etc/environment:3" in verdict.finding.fix.text


def test_what_the_runtime_tells_under_an_override_is_not_believed() -> None:
    set_ = environment({GLOBAL: "10.3.0"})
    told = amd_gpu(gfx=k("gfx1030", "run rocminfo"), pci_id=k("1002:73df"))  # a gfx1031 by its id
    (verdict,) = judge(NAME, machine(told, environment=set_))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "This GPU is gfx1031" in verdict.finding.message
    alone = amd_gpu(gfx=k("gfx1030", "run rocminfo"), pci_id=u())
    assert states(judge(NAME, machine(alone, environment=set_))) == ["unknown"]


def test_unset_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(gpu("gfx90a"), environment=environment({})))) == ["pass"]
    assert states(judge(NAME, machine(gpu("gfx90a")))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(gfx=u()), environment=environment({GLOBAL: "10.3.0"})))) == ["unknown"]
    excerpt = environment({GLOBAL: ""}, complete=False)
    assert states(judge(NAME, machine(gpu("gfx90a"), environment=excerpt))) == ["unknown"]
    set_ = environment({GLOBAL: "10.3.0"})
    assert states(judge(NAME, machine(gpu("gfx90a", driver="vfio-pci"), environment=set_))) == ["not-applicable"]
    assert states(judge(NAME, machine(environment=set_))) == ["not-applicable"]


def test_an_integrated_gpu_that_a_variable_keeps_out_does_not_suffer() -> None:
    pair = (gpu("gfx1102"), gpu("gfx1036", 1, integrated=True))
    chosen = environment({GLOBAL: "11.0.0", "HIP_VISIBLE_DEVICES": "0"})
    assert severities(judge(NAME, machine(*pair, environment=chosen)))[-1] == "info"
    first = (pair[0], gpu("gfx1036", 1, integrated=True, hip_index=k(0)))
    assert severities(judge(NAME, machine(*first, environment=chosen)))[-1] == "info"


def test_a_common_value_is_suspected_where_programs_crash() -> None:
    def with_text(text: str, value: str = "11.0.0", gfx: str = "gfx1102") -> Machine:
        return machine(gpu(gfx), environment=environment({GLOBAL: value}), messages=messages(text))

    (verdict,) = judge(NAME, with_text("Segmentation fault (core dumped)"))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("warning", "possible")
    assert verdict.finding.fix.unsets == (GLOBAL,)
    assert severities(judge(NAME, with_text("It works."))) == ["info"]
    assert severities(judge(NAME, with_text("Segmentation fault, bisected to commit 1a2b3c4d"))) == ["info"]
