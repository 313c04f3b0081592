from __future__ import annotations

from rocdoctor.model.facts import Kernel
from tests.kit import amd_gpu, event, judge, k, log, machine, nvidia_gpu, severities, states, u

NAME = "amdgpu-parameter-unknown"
LINE = event("module-parameter-unknown", "unknown parameter 'gtt_size' ignored", module="amdgpu", parameter="gtt_size")


def test_an_ignored_parameter_is_a_warning_with_the_right_name() -> None:
    kernel = Kernel(log=log(LINE), parameters=k({"amdgpu.gtt_size": "122880"}))
    (verdict,) = judge(NAME, machine(amd_gpu(), kernel=kernel))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "gtt_size" in verdict.finding.message
    assert "did you mean gttsize" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert "kernel command line" in verdict.finding.fix.text
    assert "ttm.pages_limit" in verdict.finding.fix.text


def test_a_name_like_no_other_is_to_be_removed() -> None:
    line = event("module-parameter-unknown", module="amdgpu", parameter="zzqqxx")
    (verdict,) = judge(NAME, machine(amd_gpu(), kernel=Kernel(log=log(line))))
    assert verdict.finding is not None
    assert "did you mean" not in verdict.finding.message


def test_the_command_line_alone_gives_a_note_for_a_near_miss_only() -> None:
    near = Kernel(parameters=k({"amdgpu.gtt_size": "1"}), log=u())
    assert severities(judge(NAME, machine(amd_gpu(), kernel=near))) == ["info"]
    packaged = Kernel(parameters=k({"amdgpu.qwertyuiop": "1"}), log=log())
    assert states(judge(NAME, machine(amd_gpu(), kernel=packaged))) == ["pass"]


def test_other_modules_and_known_names_are_silent() -> None:
    other = event("module-parameter-unknown", module="i915", parameter="foo")
    kernel = Kernel(log=log(other), parameters=k({"amdgpu.ppfeaturemask": "0xffffffff"}))
    assert states(judge(NAME, machine(amd_gpu(), kernel=kernel))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(), kernel=Kernel(log=u())))) == ["unknown"]
    assert states(judge(NAME, machine(nvidia_gpu()))) == ["not-applicable"]
