"""The default table of nvidia-smi and nvidia-smi -L; samples are transcribed forms with constructed values."""

from __future__ import annotations

from rocdoctor.parsers.nvidia.nvidia_smi import parse_nvidia_smi
from rocdoctor.parsers.nvidia.nvidia_table import parse_table

MIB = 1024 * 1024

# Driver 565: three rows a GPU, the widest form.
WIDE = """\
Thu Nov 14 07:00:14 2024
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 565.57.01              Driver Version: 565.57.01      CUDA Version: 12.7     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |                    3 |
| N/A   30C    P0            100W /  700W |       1MiB /  81559MiB |      7%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          Off |   00000000:2A:00.0  On |                  N/A |
| 42%   31C    P8             82W /  700W |     512MiB /  81559MiB |     98%   E. Process |
|                                         |                        |             Enabled* |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|==================+==================================+===========+=======================|
|  1    2   0   0  |              44MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
|                  |                 0MiB / 65535MiB  |           |                       |
+------------------+----------------------------------+-----------+-----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A      4321      C   /opt/env/bin/python train.py                  576MiB |
|    1     2    0      4322    C+G   ...hare/program                               N/A    |
+-----------------------------------------------------------------------------------------+
"""

# Driver 410: two rows a GPU, names cut, no CUDA version.
OLD = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 410.48                 Driver Version: 410.48                    |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla P100-SXM2...  Off  | 00000000:05:00.0 Off |                    0 |
| N/A   36C    P0    41W / 300W |  12799MiB / 16280MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
|   1  ERR!                Off  | 00000000:06:00.0 Off |                 ERR! |
|ERR!  ERR! ERR!    ERR! / ERR! |  12799MiB / 16280MiB |    ERR!         ERR! |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0     58813      C   python                                      576MiB  |
+-----------------------------------------------------------------------------+
"""

# Driver 295: numbers with a dot, MB.
OLDEST = """\
+------------------------------------------------------+
| NVIDIA-SMI 3.295.41   Driver Version: 295.41         |
|-------------------------------+----------------------+----------------------+
| Nb.  Name                     | Bus Id        Disp.  | Volatile ECC SB / DB |
| Fan   Temp   Power Usage /Cap | Memory Usage         | GPU Util. Compute M. |
|===============================+======================+======================|
| 0.  Tesla M2070               | 0000:05:00.0  Off    |         0          0 |
|  N/A    N/A  P1    Off /  Off |   0%   10MB / 5375MB |    0%     Default    |
|-------------------------------+----------------------+----------------------|
"""


def test_wide_table() -> None:
    smi = parse_nvidia_smi(WIDE)
    assert (smi.driver_version, smi.cuda_version, smi.truncated) == ("565.57.01", "12.7", False)
    assert smi.lines == {"driver_version": 3, "cuda_version": 3}
    first, second = smi.gpus
    assert (first.index, first.bdf, first.name) == (0, "0000:18:00.0", "NVIDIA H100 80GB HBM3")
    assert (first.persistence_mode, first.ecc_volatile_uncorrected) == (True, 3)
    assert (first.temp_c, first.performance_state) == (30, "P0")
    assert (first.power_w, first.power_limit_w, first.gpu_util_percent) == (100, 700, 7)
    assert (first.memory_used_bytes, first.memory_total_bytes) == (1 * MIB, 81559 * MIB)
    assert (first.compute_mode, first.mig_enabled, first.mig_instances) == ("Default", False, 0)
    assert (first.lines["bdf"], first.lines["temp_c"], first.lines["mig_enabled"]) == (9, 10, 11)
    assert first.processes is not None
    assert [(one.used_bytes, one.line) for one in first.processes] == [(576 * MIB, 33)]
    assert (second.bdf, second.persistence_mode) == ("0000:2a:00.0", False)
    assert (second.ecc_volatile_uncorrected, second.mig_enabled) == (None, True)
    assert second.mig_instances == 1
    assert second.processes is not None
    assert [one.used_bytes for one in second.processes] == [None]


def test_old_table() -> None:
    smi = parse_nvidia_smi(OLD)
    assert (smi.driver_version, smi.cuda_version, smi.truncated) == ("410.48", None, False)
    first, broken = smi.gpus
    assert (first.name, first.name_cut, first.bdf) == ("Tesla P100-SXM2", True, "0000:05:00.0")
    assert (first.temp_c, first.power_w, first.power_limit_w) == (36, 41, 300)
    assert (first.memory_used_bytes, first.memory_total_bytes) == (12799 * MIB, 16280 * MIB)
    assert first.mig_enabled is None
    assert first.processes is not None
    assert (broken.index, broken.name, broken.temp_c, broken.power_w) == (1, None, None, None)


def test_oldest_table() -> None:
    (gpu,) = parse_nvidia_smi(OLDEST).gpus
    assert (gpu.index, gpu.name, gpu.bdf) == (0, "Tesla M2070", "0000:05:00.0")
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (10 * MIB, 5375 * MIB)
    assert (gpu.temp_c, gpu.power_w, gpu.performance_state) == (None, None, "P1")


def test_rows_without_the_head_of_the_table() -> None:
    piece = "\n".join(WIDE.splitlines()[8:10])
    smi = parse_nvidia_smi(piece)
    assert smi.gpus[0].bdf == "0000:18:00.0" and smi.truncated
    assert smi.gpus[0].processes is None


def test_table_wrapped_by_a_narrow_terminal() -> None:
    wrapped = "\n".join(part for line in WIDE.splitlines() for part in (line[:80], line[80:]) if part)
    first, second = parse_nvidia_smi(wrapped).gpus
    assert (first.ecc_volatile_uncorrected, first.compute_mode, first.mig_enabled) == (3, "Default", False)
    assert (second.memory_total_bytes, second.mig_enabled) == (81559 * MIB, True)


def test_table_cut_at_its_right_side() -> None:
    cut = "\n".join(line[:65] for line in WIDE.splitlines())
    first = parse_nvidia_smi(cut).gpus[0]
    assert (first.bdf, first.temp_c, first.power_w, first.power_limit_w) == ("0000:18:00.0", 30, 100, 700)
    assert (first.memory_total_bytes, first.mig_enabled, first.ecc_volatile_uncorrected) == (None, None, None)
    # A number that is cut is no smaller number.
    row = "|   0  NVIDIA A10   On  | 00000000:18:00.0 Off |      0 |\n"
    assert parse_nvidia_smi(row + "| N/A   30C    P0   100W /  70").gpus[0].power_limit_w is None
    assert parse_nvidia_smi(row[:-2]).gpus[0].ecc_volatile_uncorrected is None
    assert parse_nvidia_smi(row + "| NVIDIA-SMI 565.57.01   Driver Version: 565.5").driver_version is None


def test_quoted_table() -> None:
    quoted = "\n".join("> " + line for line in OLD.splitlines())
    assert parse_nvidia_smi(quoted).gpus[0].power_limit_w == 300


def test_no_processes() -> None:
    text = OLD.replace(
        "|    0     58813      C   python                                      576MiB  |",
        "|  No running processes found                                                 |",
    )
    assert parse_table(text).gpus[0].processes == ()


def test_list() -> None:
    text = (
        "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-9667d95e-0000-0000-0000-000000000001)\n"
        "  MIG 3g.40gb     Device  0: (UUID: MIG-c6d4f1ef-0000-0000-0000-000000000002)\n"
        "GPU 1: NVIDIA GeForce GTX 1070 (UUID: GPU-e511a7b2-0000-0000-0000-000000000003)\n"
    )
    smi = parse_nvidia_smi(text)
    first, second = smi.gpus
    assert (first.index, first.name, first.line) == (0, "NVIDIA A100-SXM4-80GB", 1)
    assert first.uuid == "GPU-9667d95e-0000-0000-0000-000000000001"
    assert (first.mig_instances, second.mig_instances) == (1, 0)
    assert (second.index, second.name, second.lines["uuid"]) == (1, "NVIDIA GeForce GTX 1070", 3)
    assert second.bdf is None and second.processes is None
