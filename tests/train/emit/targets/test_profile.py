from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

import pytest
import yaml

from rocdoctor.collect import collect
from rocdoctor.compare.expected import read_expected
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Finding
from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.profile import FRAMEWORKS, files, refuses, render
from rocdoctor.train.recommend.model.layout import Framework
from tests.golden.edits import Broken
from tests.golden.replay import NAMES, host_of
from tests.kit import amd_gpu, environment, judge, k, machine
from tests.profile_kit import CHECKS, whole
from tests.train.emit.plan_kit import plan


def _found(now: Machine, profile: str) -> list[tuple[str, str, Finding]]:
    expected, problem = read_expected(profile, "p.yaml")
    assert (problem, expected.problems) == ("", ())
    verdicts = [one for name in CHECKS for one in judge(name, replace(now, expected=expected))]
    assert not [one for one in verdicts if one.state in ("crashed", "unknown")]
    return [(one.check, one.subject.label, one.finding) for one in verdicts if one.finding is not None]


@pytest.mark.parametrize("name", NAMES)
def test_a_machine_has_not_drifted_from_its_own_profile(name: str) -> None:
    now = collect(host_of(name))
    assert _found(now, render(now, plan())) == []


def test_an_edited_machine_differs_in_exactly_the_edit() -> None:
    profile = render(collect(host_of("mi300x-8gpu")))
    broken = Broken("mi300x-8gpu")
    card = "/sys/class/drm/card1/device"
    broken.set(f"read {card}/current_compute_partition", "CPX").replace(
        "read /proc/cmdline", "iommu=pt", "iommu.passthrough=0"
    )
    said = {(one[0], one[2].message) for one in _found(collect(broken.host), profile)}
    assert said == {
        ("profile-settings-differ", "Compute partition mode: SPX when the profile was made, CPX now."),
        (
            "profile-settings-differ",
            "Kernel boot parameters: iommu=pt when the profile was made, iommu.passthrough=0 now.",
        ),
    }


def test_a_link_that_trained_narrower() -> None:
    profile = render(collect(host_of("mi300x-8gpu")))
    broken = Broken("mi300x-8gpu")
    for end in ("0000:00:01.1", "0000:07:00.0"):  # the root port and the switch below it
        broken.set(f"read /sys/bus/pci/devices/{end}/current_link_width", "8")
    said = [(one[0], one[1], one[2].message) for one in _found(collect(broken.host), profile)]
    assert said == [
        ("profile-links-differ", "gpu 0 (0000:0a:00.0)", "PCIe lanes in use: 16 when the profile was made, 8 now.")
    ]


def test_every_value_has_its_reason() -> None:
    text = render(whole(), plan(parallel={"tp": 2}))
    for line in text.splitlines():
        opens = line.rstrip().endswith(":") or not line or line.startswith("#")
        assert opens or re.search(r"  # \S", line), line


def test_nothing_that_names_people_or_places_is_in_it() -> None:
    private = {
        "NCCL_SOCKET_IFNAME": "eth-secret",
        "MASTER_ADDR": "10.1.2.3",
        "HF_TOKEN": "hf_secret",
        "USER": "ada-secret",
        "NCCL_COMM_ID": "10.1.2.3:44",
    }
    named = whole(
        amd_gpu(0, unique_id="0xsecret", hive_id="0xsecret"),
        environment=environment(private),
        torch=replace(whole().torch, interpreter=k("/home/ada-secret/venv/bin/python")),
        kernel=replace(whole().kernel, cmdline=k("root=UUID=secret"), parameters=k({"root": "UUID=secret"})),
    )
    text = render(named, replace(plan(), spec={"model": "/home/ada-secret/model", "gpus": 1}))
    assert "secret" not in text
    assert "10.1.2.3" not in text
    assert '"model": "model"' in text


def test_what_a_machine_prints_cannot_end_a_line_or_a_value() -> None:
    odd = machine(amd_gpu(0, name='a"b\\\n# c: d\u2028\x1b[0m'))
    read = yaml.safe_load(render(odd))
    assert read["gpus"][0]["name"] == 'a"b\\ # c: d [0m'


def test_a_described_fleet_has_its_gpus_and_the_plan() -> None:
    made = plan()
    (file,) = files(made, Order())
    read = yaml.safe_load(file.text)
    assert [gpu["name"] for gpu in read["gpus"]] == ["AMD Instinct MI300X"] * 8
    assert read["plan"] == made.spec
    assert set(read) == {"schema", "rocdoctor", "gpus", "plan"}
    with_machine = yaml.safe_load(files(made, Order(machine=whole()))[0].text)
    assert len(with_machine["gpus"]) == 2
    assert with_machine["plan"] == made.spec


def test_it_serves_every_framework() -> None:
    assert set(FRAMEWORKS) == set(get_args(Framework))
    assert refuses(plan().work) is None


def test_an_excerpt_does_not_say_that_there_is_no_gpu() -> None:
    assert "gpus" not in yaml.safe_load(render(replace(machine(), gpus_complete=False)))
    assert yaml.safe_load(render(machine()))["gpus"] == []


def test_what_makes_no_sense_is_not_noted_and_signs_that_do_not_print_are_blanks() -> None:
    odd = whole(
        amd_gpu(0, vbios=" ", vram_bytes=10**26, subsystem_id="a\x14b\u2028c"),
        torch=replace(whole().torch, packages=k({"a\x1bb": "1\x1b2", "c": "\x00"}, "python default")),
    )
    text = render(odd)
    read = yaml.safe_load(text)
    assert read["gpus"][0]["subsystem_id"] == "a b c"
    assert not {"vbios", "memory_bytes"} & set(read["gpus"][0])
    expected, problem = read_expected(text, "p.yaml")
    assert (problem, expected.problems) == ("", ())
    verdicts = [one for name in CHECKS for one in judge(name, replace(odd, expected=expected))]
    assert not [one for one in verdicts if one.finding is not None or one.state == "crashed"]
