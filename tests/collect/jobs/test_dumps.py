"""Dumps that hold less than a machine's files: nodes of GPU memory, devices without uevent, switches in the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocdoctor.collect import collect
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Machine
from rocdoctor.report.machine.summary import machine_lines
from rocdoctor.service.evidence import open_evidence

_NODE = "sys/devices/system/node"


def folder(root: Path, texts: dict[str, str]) -> Machine:
    """The machine of a folder with these files."""
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return collect(open_evidence(str(root)))


def _node(number: int, cpus: str, gibibytes: int) -> dict[str, str]:
    return {
        f"{_NODE}/node{number}/cpulist": cpus,
        f"{_NODE}/node{number}/meminfo": f"Node {number} MemTotal: {gibibytes << 20} kB",
    }


def test_memory_of_a_gpu_is_no_node_of_the_processor(tmp_path: Path) -> None:
    """As on POWER9 with V100 and on Grace Hopper; /proc/driver/nvidia/gpus/*/numa_status names the GPU."""
    machine = folder(
        tmp_path,
        {
            **_node(0, "0-15", 128),
            **_node(8, "16-31", 128),
            **_node(254, "", 15),
            **_node(255, "", 15),
            "proc/driver/nvidia/gpus/0004:04:00.0/numa_status": "Node:      255\nStatus:    online\nSize:   3f0000000",
            "proc/driver/nvidia/gpus/0035:03:00.0/numa_status": "Node:      254\nStatus:    online\nSize:   3f0000000",
            "proc/driver/nvidia/gpus/0035:03:00.0/information": "Model: \t\t Tesla V100-SXM2-16GB\nIRQ:   \t\t 5",
            "sys/bus/pci/devices/0004:04:00.0/numa_node": "0",
            "sys/bus/pci/devices/0035:03:00.0/numa_node": "8",
        },
    )
    assert [node.node for node in machine.numa_nodes] == [0, 8, 254, 255]
    assert [(gpu.vendor, gpu.numa_node.value) for gpu in machine.gpus if isinstance(gpu.numa_node, Known)] == [
        ("nvidia", 0),
        ("nvidia", 8),
    ]
    assert [gpu.name.value for gpu in machine.gpus if isinstance(gpu.name, Known)] == ["Tesla V100-SXM2-16GB"]
    (line,) = [line for line in machine_lines(machine) if line.startswith("CPU")]
    assert "2 NUMA nodes, 2 NUMA nodes with memory only" in line


def test_a_gpu_without_its_uevent_file_is_known_by_the_single_files(tmp_path: Path) -> None:
    device = "sys/bus/pci/devices/0000:c1:00.0"
    machine = folder(
        tmp_path,
        {
            f"{device}/vendor": "0x1002",
            f"{device}/device": "0x740f",
            f"{device}/class": "0x038000",
            f"{device}/subsystem_vendor": "0x1002",
            f"{device}/subsystem_device": "0x0c34",
            f"{device}/numa_node": "3",
            "sys/bus/pci/devices/0000:00:00.0/vendor": "0x1022",
        },
    )
    (gpu,) = machine.gpus
    for fact, value in ((gpu.pci_id, "1002:740f"), (gpu.subsystem_id, "1002:0c34"), (gpu.numa_node, 3)):
        assert isinstance(fact, Known) and fact.value == value
    assert not isinstance(gpu.driver, Known)  # nothing here tells
    assert isinstance(gpu.pci_id, Known) and gpu.pci_id.source.question == f"read /{device}/vendor"


def test_the_address_of_an_nvswitch_makes_no_gpu(tmp_path: Path) -> None:
    line = "[ 4000.1] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO"
    machine = folder(tmp_path, {"var/log/syslog": line, "etc/hostname": "n1"})
    assert machine.gpus == ()
    assert isinstance(machine.kernel.log, Known)
    assert [event.kind for event in machine.kernel.log.value.events] == ["nvswitch-sxid"]


@pytest.mark.parametrize("more", ["Severity 1 Engine instance 30 Sub-engine instance 00", "Data {0x00140004, 0x00}"])
def test_what_a_switch_adds_to_an_error_is_no_second_one(tmp_path: Path, more: str) -> None:
    begin = "[ 4000.1] nvidia-nvswitch0: SXid (PCI:0000:85:00.0): 20034, "
    machine = folder(
        tmp_path, {"var/log/kern.log": f"{begin}Fatal, Link 30 LTSSM Fault Up\n{begin}{more}", "etc/hostname": "n1"}
    )
    assert isinstance(machine.kernel.log, Known)
    assert [event.kind for event in machine.kernel.log.value.events] == ["nvswitch-sxid-fatal"]


_TABLES = """
WEIGHT TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 0            30
0000:22:00.0 30           0

HOPS TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 0            2
0000:22:00.0 2            0

LINK TYPE TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 SELF         XGMI
0000:22:00.0 XGMI         SELF
"""


def test_tables_of_amd_smi_topology_are_known_without_a_prompt(tmp_path: Path) -> None:
    path = tmp_path / "topology.txt"
    path.write_text(_TABLES)
    machine = collect(open_evidence(str(path)))
    (link,) = machine.links
    assert isinstance(link.weight, Known) and isinstance(link.hops, Known)
    assert (link.type, link.weight.value, link.hops.value) == ("xgmi", 30, 2)
