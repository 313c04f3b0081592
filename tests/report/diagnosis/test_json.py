from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from rocdoctor import __version__
from rocdoctor.model.facts import Container, Cpus, GpuLink, Nic, NumaNode, TorchBuild
from rocdoctor.model.finding import Evidence, Fix
from rocdoctor.report.diagnosis.json_report import report
from rocdoctor.report.machine.json_facts import facts
from tests.kit import amd_gpu, k, machine, nvidia_gpu
from tests.report.made import FULL, HOSTILE, OVERRIDE, diagnosis, failed

SUBJECT = {"kind": "live", "origin": "this machine"}


def made(of: Any = FULL) -> dict[str, Any]:
    data = report(of, SUBJECT, {"total_s": 0.1, "slowest": []}, {"small-bar": "The BAR is small."})
    loaded: dict[str, Any] = json.loads(json.dumps(data))
    assert loaded == data, "plain data only"
    return loaded


def test_the_report_has_the_keys_of_the_contract() -> None:
    data = made()
    assert data["schema"] == "rocdoctor.report/1"
    assert {"schema", "tool", "subject", "summary", "causes", "verdicts", "next", "timing"} <= set(data)
    assert data["tool"] == {"version": __version__}
    assert data["subject"] == SUBJECT
    assert data["summary"] == {
        "pass": 1,
        "fail": 3,
        "unknown": 1,
        "not_applicable": 1,
        "crashed": 1,
        "worst": "error",
    }


def test_a_cause_has_what_the_contract_names_and_the_main_one_is_first() -> None:
    first, second = made()["causes"]
    assert set(first) >= {"cause", "confidence", "message", "remedy", "check", "subjects", "explains"}
    assert (first["cause"], first["check"]) == ("hsa-override-wrong", "gfx-override-mismatch")
    assert first["remedy"] == "Unset the variable: unset HSA_OVERRIDE_GFX_VERSION"
    assert first["subjects"] == ["gpu 0 (0000:23:00.0)"]
    assert second["cause"] == "pcie-link-degraded"


def test_a_verdict_has_what_the_contract_names() -> None:
    verdicts = made()["verdicts"]
    keys = {"check", "subject", "state", "severity", "cause", "message", "evidence", "fix", "why"}
    assert all(set(one) >= keys for one in verdicts)
    fail = verdicts[0]
    assert (fail["state"], fail["severity"], fail["cause"]) == ("fail", "error", "hsa-override-wrong")
    assert fail["evidence"][0] == {
        "source": "read /sys/class/kfd/kfd/topology/nodes/1/properties",
        "line": 2,
        "value": "gfx942",
    }
    assert fail["evidence"][1]["line"] is None
    assert set(fail["fix"]) >= {"text", "command", "safety", "verify"}
    assert fail["fix"]["verify"] == "rocdoctor check gfx-override-mismatch"
    passed = verdicts[3]
    assert (passed["state"], passed["severity"], passed["cause"], passed["fix"]) == ("pass", None, None, None)
    assert passed["message"] == "The BAR is small."
    assert verdicts[4]["why"] == "no kernel log in this evidence"


def test_next_steps_are_commands_with_reasons_and_nothing_found_is_an_empty_list() -> None:
    assert made()["next"] == [{"command": "sudo dmesg | rocdoctor check --add -", "why": "the kernel log needs root"}]
    nothing = made(diagnosis([]))
    assert nothing["causes"] == []
    assert nothing["summary"]["worst"] == "none"


def test_no_control_sequence_stands_in_any_string() -> None:
    found = replace(
        OVERRIDE, message=HOSTILE, evidence=(Evidence(HOSTILE, HOSTILE),), fix=Fix(HOSTILE, command=HOSTILE)
    )
    hostile = machine(
        amd_gpu(name=HOSTILE, firmware={"smc": HOSTILE}), torch=TorchBuild(packages=k({HOSTILE: HOSTILE}))
    )
    data = report(diagnosis([failed(found, HOSTILE)], hostile), {"kind": "text", "origin": HOSTILE}, {}, {})
    for text in (json.dumps(data, ensure_ascii=False), json.dumps(facts(hostile), ensure_ascii=False)):
        assert "\x9b" not in text and "\\u001b" not in text and "\u202e" not in text
        text.encode("utf-8")


# -- facts


def test_the_facts_have_the_keys_of_the_contract() -> None:
    links = (GpuLink(0, 1, "nvlink", hops=k(1)),)
    nodes = (NumaNode(0, k("0-7"), k(1 << 30), k((10,))),)
    of = machine(
        nvidia_gpu(0, compute_capability="9.0"),
        nvidia_gpu(1),
        links=links,
        numa_nodes=nodes,
        network=(Nic("mlx5_0", "infiniband", speed_gbit_s=k(400.0)),),
        cpus=Cpus(threads=k(8)),
        container=Container(kind=k("none"), rootless=k(False)),
        drivers={"nvidia": {"version": k("565.57.01"), "cuda": k("12.7")}},
    )
    data = json.loads(json.dumps(facts(of)))
    assert data["schema"] == "rocdoctor.facts/1"
    assert set(data) >= {
        "gpus",
        "links",
        "numa_nodes",
        "cpus",
        "drivers",
        "kernel",
        "os",
        "rocm",
        "torch",
        "containers",
        "displays",
        "network",
        "unknown",
    }
    gpu = data["gpus"][0]
    assert set(gpu) >= {
        "index",
        "vendor",
        "name",
        "bdf",
        "pci_id",
        "subsystem_id",
        "driver",
        "gfx",
        "compute_capability",
        "integrated",
        "compute_units",
        "vram_bytes",
        "numa_node",
        "vbios",
        "unique_id",
        "hive_id",
        "mig",
        "compute_nodes",
        "pcie",
        "kfd_node",
        "hip_index",
        "smi_index",
        "torch_index",
        "temps_c",
        "power_w",
        "partition",
    }
    assert set(gpu["pcie"]) >= {"device", "slot"}
    assert data["links"][0] | {"weight": None} == {"a": 0, "b": 1, "type": "nvlink", "weight": None, "hops": 1}
    assert data["drivers"] == {"nvidia": {"version": "565.57.01", "cuda": "12.7"}}
    assert data["network"][0]["speed_gbit_s"] == 400.0


def test_what_is_unknown_is_null_with_its_reason() -> None:
    data = facts(machine(amd_gpu()))
    assert data["gpus"][0]["vbios"] is None
    assert data["unknown"]["gpus[0].vbios"] == "the evidence does not cover it"
    assert "gpus[0].gfx" not in data["unknown"]
