"""Rows on memory that ran out elsewhere, absent parts and jobs that others end: what each answers, and when not."""

from __future__ import annotations

from tests.text_kit import diagnosed

LSMOD = "$ lsmod | grep nvidia\nnvidia_drm             57344  0\nnvidia              34086912  1 nvidia_modeset\n"
ABSENT = "$ nvidia-smi\nbash: nvidia-smi: command not found\n"
DXG = "docker run -it --device=/dev/dxg -v /usr/lib/wsl/lib/libdxcore.so:/usr/lib/libdxcore.so rocm/jax\n"
PLUGIN = "ERROR:jax: Jax plugin configuration error: Exception when calling jax_plugins.xla_rocm7.initialize()\n"
NO_KFD = "agent.cpp:608] sysfs nodes path '/sys/class/kfd/kfd/topology/nodes' does not exist\nis_available() False\n"

ANSWERS = {
    "Error allocating (4 GB) host memory\nClearing memory pool and retrying": [("out-of-memory", "host-memory")],
    "Error: System is out of GPU and shared host memory": [("out-of-memory", "")],
    ABSENT + LSMOD: [("missing-shared-library", "part-absent")],
    "GPU: Radeon RX 7900 XTX\n" + DXG + PLUGIN: [("wsl-unsupported", "")],
    "GPU: Radeon RX 7900 XTX\n" + PLUGIN: [("python-package-mismatch", "")],
    "GPU: Radeon RX 7900 XTX\n" + DXG + NO_KFD: [("wsl-unsupported", "")],
    "GPU: Radeon RX 7900 XTX\n" + NO_KFD: [("kernel-module-not-loaded", "")],
    "`rocm-smi` fails: exit code 127, no output, of /opt/rocm-7.2.4/bin/rocm-smi": [
        ("missing-shared-library", "part-absent")
    ],
    "rocm-smi took 127 s": [],
    "ComfyUI on my RX 6600 XT: everything that comes out is a black image.": [("not-environment", "half-precision")],
    "ComfyUI on my RX 6600 XT: the safety checker gives a black image.": [],
    "slurmstepd: error: *** JOB 47 ON n1 CANCELLED AT 2026-11-02T10:11:12 DUE TO TIME LIMIT ***": [
        ("not-environment", "ended-by-others")
    ],
    "On all gpu nodes of the cluster the job failed after 8 mins with no reason given.": [
        ("not-environment", "ended-by-others")
    ],
    "A rocprofv3 --pmc run crashes on gfx1151 in hsa_ven_amd_aqlprofile_get_info: HSA_STATUS_ERROR": [
        ("not-environment", "")
    ],
    "A rocprofv3 --pmc run crashes on gfx90a in hsa_ven_amd_aqlprofile_get_info: HSA_STATUS_ERROR": [],
    "arch gfx1200\ninvalid kernel file img\ninvalid kernel file enc0": [("gpu-arch-not-built", "")],
    "The sampling step went through and then I got OOM at the VAE decode stage.": [("out-of-memory", "")],
    "An NVIDIA GPU may be present, but a CUDA-enabled jaxlib is not installed. Falling back to gpu.": [],
}


def _first(text: str) -> list[tuple[str, str]]:
    found = []
    for one in diagnosed(text).causes[:1]:
        finer = next((each.finding.finer for each in diagnosed(text).verdicts if each.finding is not None), "")
        found.append((one.cause, finer))
    return found


def test_what_comes_first() -> None:
    wrong = {text: _first(text) for text, expected in ANSWERS.items() if _first(text) != expected}
    assert not wrong
