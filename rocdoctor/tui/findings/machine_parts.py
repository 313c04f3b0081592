"""Which part of a machine a check is about, in words that a user looks for. Pure.

The root cause decides where there is one, else the words of the check's name: a new check finds its place by itself.
"""

from __future__ import annotations

AREAS = ("GPU", "driver", "links", "access", "software", "settings", "host", "network", "job")
OTHER = "other"

_OF_CAUSE = {
    "GPU": ("gpu-hardware-fault", "thermal-or-power-limit", "mixed-gpu-archs"),
    "driver": (
        "kernel-module-not-loaded",
        "dkms-kernel-mismatch",
        "driver-library-mismatch",
        "gpu-not-supported",
        "gpu-firmware",
        "driver-too-old",
        "wsl-unsupported",
    ),
    "links": ("pcie-atomics-missing", "pcie-link-degraded", "iommu-acs-p2p", "fabric-manager-down"),
    "access": ("container-device-access", "device-permission"),
    "software": (
        "mixed-rocm-installs",
        "libc-or-abi-mismatch",
        "missing-shared-library",
        "wrong-backend-build",
        "gpu-arch-not-built",
        "kernel-lib-arch-unsupported",
        "python-package-mismatch",
        "cuda-toolkit-mismatch",
    ),
    "settings": ("hsa-override-wrong", "visible-devices-conflict", "igpu-shadows-dgpu", "debug-env-left-on"),
    "host": ("shm-too-small", "memlock-limit", "cpu-affinity-or-threads", "out-of-memory"),
    "network": ("network-interface-wrong", "rendezvous-name-resolution"),
}
_AREA_OF_CAUSE = {cause: area for area, causes in _OF_CAUSE.items() for cause in causes}

# The first line of which a name has a word counts.
_WORDS = (
    ("job", "job rank flight collective smoke slurm environment"),
    ("network", "network infiniband rdma rendezvous"),
    ("links", "pcie acs iommu p2p peer xgmi nvlink nvswitch fabric hive slot riser bar links"),
    ("host", "host swap cpu numa far nofile hugepages cgroup shm memlock oom omp thread carve nic hung"),
    ("access", "container permission denied node group virtual"),
    (
        "settings",
        "env variables visible devices override profile performance persistence ppfeaturemask mig partition "
        "mode parameter",
    ),
    ("software", "torch rocm cuda python interpreter numpy extension library package toolkit wheel release abi"),
    ("driver", "driver module kernel dkms amdgpu kfd smu firmware wsl tool sources smi"),
    (
        "GPU",
        "gpu ecc ras pages fan temperature vram ring xid power throttling cooling thermal hardware architectures "
        "queue memory vendor vendors clock vbios",
    ),
)
_AREA_OF_WORD = tuple((area, frozenset(words.split())) for area, words in _WORDS)


def area_of(check: str, cause: str = "") -> str:
    """The area of a check, or of a finding with a root cause."""
    if cause in _AREA_OF_CAUSE:
        return _AREA_OF_CAUSE[cause]
    words = set(check.split("-"))
    return next((area for area, known in _AREA_OF_WORD if known & words), OTHER)
