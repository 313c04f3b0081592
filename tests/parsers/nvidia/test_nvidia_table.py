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
    assert (first.index, first.get("bdf"), first.get("name")) == (0, "0000:18:00.0", "NVIDIA H100 80GB HBM3")
    assert (first.get("persistence"), first.get("ecc_volatile_uncorrected")) == (True, 3)
    assert (first.get("temp_c"), first.get("performance_level")) == (30, "P0")
    assert (first.get("power.now_w"), first.get("power.cap_w"), first.get("busy_percent")) == (100, 700, 7)
    assert (first.get("vram_used_bytes"), first.get("vram_bytes")) == (1 * MIB, 81559 * MIB)
    assert (first.get("compute_mode"), first.get("mig"), first.get("mig_instances")) == ("Default", False, 0)
    assert (first.lines["bdf"], first.lines["temp_c"], first.lines["mig"]) == (9, 10, 11)
    assert first.get("process_list") is not None
    assert [(one.used_bytes, one.line) for one in first.get("process_list")] == [(576 * MIB, 33)]
    assert (second.get("bdf"), second.get("persistence")) == ("0000:2a:00.0", False)
    assert (second.get("ecc_volatile_uncorrected"), second.get("mig")) == (None, True)
    assert second.get("mig_instances") == 1
    assert second.get("process_list") is not None
    assert [one.used_bytes for one in second.get("process_list")] == [None]


def test_old_table() -> None:
    smi = parse_nvidia_smi(OLD)
    assert (smi.driver_version, smi.cuda_version, smi.truncated) == ("410.48", None, False)
    first, broken = smi.gpus
    assert (first.get("name"), first.get("cut_name"), first.get("bdf")) == (None, "Tesla P100-SXM2", "0000:05:00.0")
    assert (first.get("temp_c"), first.get("power.now_w"), first.get("power.cap_w")) == (36, 41, 300)
    assert (first.get("vram_used_bytes"), first.get("vram_bytes")) == (12799 * MIB, 16280 * MIB)
    assert first.get("mig") is None
    assert first.get("process_list") is not None
    assert (broken.index, broken.get("name"), broken.get("temp_c"), broken.get("power.now_w")) == (1, None, None, None)


def test_oldest_table() -> None:
    (gpu,) = parse_nvidia_smi(OLDEST).gpus
    assert (gpu.index, gpu.get("name"), gpu.get("bdf")) == (0, "Tesla M2070", "0000:05:00.0")
    assert (gpu.get("vram_used_bytes"), gpu.get("vram_bytes")) == (10 * MIB, 5375 * MIB)
    assert (gpu.get("temp_c"), gpu.get("power.now_w"), gpu.get("performance_level")) == (None, None, "P1")


def test_rows_without_the_head_of_the_table() -> None:
    piece = "\n".join(WIDE.splitlines()[8:10])
    smi = parse_nvidia_smi(piece)
    assert smi.gpus[0].get("bdf") == "0000:18:00.0" and smi.truncated
    assert smi.gpus[0].get("process_list") is None


def test_table_wrapped_by_a_narrow_terminal() -> None:
    wrapped = "\n".join(part for line in WIDE.splitlines() for part in (line[:80], line[80:]) if part)
    first, second = parse_nvidia_smi(wrapped).gpus
    assert (first.get("ecc_volatile_uncorrected"), first.get("compute_mode"), first.get("mig")) == (3, "Default", False)
    assert (second.get("vram_bytes"), second.get("mig")) == (81559 * MIB, True)


def test_table_cut_at_its_right_side() -> None:
    cut = "\n".join(line[:65] for line in WIDE.splitlines())
    first = parse_nvidia_smi(cut).gpus[0]
    assert (first.get("bdf"), first.get("temp_c"), first.get("power.now_w"), first.get("power.cap_w")) == (
        "0000:18:00.0",
        30,
        100,
        700,
    )
    assert (first.get("vram_bytes"), first.get("mig"), first.get("ecc_volatile_uncorrected")) == (None, None, None)
    # A number that is cut is no smaller number.
    row = "|   0  NVIDIA A10   On  | 00000000:18:00.0 Off |      0 |\n"
    assert parse_nvidia_smi(row + "| N/A   30C    P0   100W /  70").gpus[0].get("power.cap_w") is None
    assert parse_nvidia_smi(row[:-2]).gpus[0].get("ecc_volatile_uncorrected") is None
    assert parse_nvidia_smi(row + "| NVIDIA-SMI 565.57.01   Driver Version: 565.5").driver_version is None


def test_quoted_table() -> None:
    quoted = "\n".join("> " + line for line in OLD.splitlines())
    assert parse_nvidia_smi(quoted).gpus[0].get("power.cap_w") == 300


def test_no_processes() -> None:
    text = OLD.replace(
        "|    0     58813      C   python                                      576MiB  |",
        "|  No running processes found                                                 |",
    )
    assert parse_table(text).gpus[0].get("process_list") == ()


def test_list() -> None:
    text = (
        "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-9667d95e-0000-0000-0000-000000000001)\n"
        "  MIG 3g.40gb     Device  0: (UUID: MIG-c6d4f1ef-0000-0000-0000-000000000002)\n"
        "GPU 1: NVIDIA GeForce GTX 1070 (UUID: GPU-e511a7b2-0000-0000-0000-000000000003)\n"
    )
    smi = parse_nvidia_smi(text)
    first, second = smi.gpus
    assert (first.index, first.get("name"), first.line) == (0, "NVIDIA A100-SXM4-80GB", 1)
    assert first.get("unique_id") == "GPU-9667d95e-0000-0000-0000-000000000001"
    assert (first.get("mig_instances"), second.get("mig_instances")) == (1, 0)
    assert (second.index, second.get("name"), second.lines["unique_id"]) == (1, "NVIDIA GeForce GTX 1070", 3)
    assert second.get("bdf") is None and second.get("process_list") is None
