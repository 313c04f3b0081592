"""nvlink --status and topo -m; samples are transcribed forms with constructed values."""

from __future__ import annotations

from rocdoctor.parsers.nvidia.nvidia_links import nvlink_count, parse_nvlink_status, parse_topo

NVLINK = """\
GPU 5: NVIDIA A100-SXM4-80GB (UUID: GPU-00000000-0000-0000-0000-000000000005)
\t Link 0: 25 GB/s
\t Link 1: <inactive>
\t Link 2: 26.562 GB/s
GPU 6: NVIDIA A100-SXM4-80GB (UUID: GPU-00000000-0000-0000-0000-000000000006)
NVML: Unable to retrieve NVLink information as all links are inactive
GPU 7: NVIDIA GeForce RTX 3080 (UUID: GPU-00000000-0000-0000-0000-000000000007)
"""

TOPO = """\
\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV12\tSYS\tPXB\t0-31,64-95\t0\t\tN/A
GPU1\tNV12\t X \tNODE\tSYS\t0-31,64-95\t0-1\t\tN/A
GPU2\tSYS\tNODE\t X \tPHB\t32-63\t1\t\t2
NIC0\tPXB\tSYS\tPHB\t X \t\t\t\t

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
"""

# Driver 375: no NUMA column, SOC in place of SYS, blanks in place of tabs, two NICs by name.
OLD_TOPO = """\
        GPU0    GPU1    mlx5_0  CPU Affinity
GPU0     X      SOC     PIX     0-15
GPU1    SOC      X      SOC     16-31
mlx5_0  PIX     SOC      X
"""


def test_nvlink_status() -> None:
    some, none, without = parse_nvlink_status(NVLINK).gpus
    assert (some.index, some.name, some.line) == (5, "NVIDIA A100-SXM4-80GB", 1)
    assert [(one.index, one.active, one.speed_gb_s, one.line) for one in some.links] == [
        (0, True, 25.0, 2),
        (1, False, None, 3),
        (2, True, 26.562, 4),
    ]
    assert some.all_inactive is False
    assert (none.all_inactive, none.links) == (True, ())
    # A card without NVLink shows nothing: not the same as links that are down.
    assert without.all_inactive is False


def test_nvlink_all_listed_inactive() -> None:
    text = NVLINK.replace("25 GB/s", "<inactive>").replace("26.562 GB/s", "<inactive>")
    assert parse_nvlink_status(text).gpus[0].all_inactive


def test_nvlink_failure() -> None:
    status = parse_nvlink_status("Failed to initialize NVML: Driver/library version mismatch\n")
    assert status.gpus == () and [one.kind for one in status.failures] == ["version-mismatch"]


def test_topo() -> None:
    topo = parse_topo(TOPO)
    assert [row.name for row in topo.rows] == ["GPU0", "GPU1", "GPU2", "NIC0"]
    first, _, _, nic = topo.rows
    assert first.links == {"GPU1": "NV12", "GPU2": "SYS", "NIC0": "PXB"}
    assert first.line == 2
    assert nic.links == {"GPU0": "PXB", "GPU1": "SYS", "GPU2": "PHB"}
    assert (nvlink_count("NV12"), nvlink_count("SYS"), nvlink_count(None)) == (12, 0, None)


def test_old_topo() -> None:
    topo = parse_topo(OLD_TOPO)
    assert [row.name for row in topo.rows] == ["GPU0", "GPU1", "mlx5_0"]
    assert topo.rows[0].links == {"GPU1": "SOC", "mlx5_0": "PIX"}


def test_topo_of_one_gpu() -> None:
    topo = parse_topo("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-15\t0\n")
    assert [(row.name, row.links) for row in topo.rows] == [("GPU0", {})]


def test_cut_row_has_the_links_before_the_cut() -> None:
    topo = parse_topo("\n".join(line[:14] for line in TOPO.replace("\x1b[4m", "").splitlines()[:2]))
    assert topo.rows == () or topo.rows[0].links == {"GPU1": "NV12"}
    cut = TOPO.splitlines()[0] + "\nGPU0\t X \tNV12\tSY"
    (row,) = parse_topo(cut).rows
    assert row.links == {"GPU1": "NV12"}
