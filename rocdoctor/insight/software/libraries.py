"""What shared libraries belong to: which component brings a library that the loader does not find.

Names are the sonames that the projects publish; package names are those of Debian and Ubuntu (looked up in Debian 12),
of AMD's repository or of PyPI. ``{major}`` is that of the library's name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rocdoctor.model.lazy_re import regex

Owner = Literal["rocm", "cuda", "driver", "torch", "system", "unknown"]

# soname without version -> package (AMD's repository)
_ROCM = {
    "libamdhip64": "hip-runtime-amd",
    "libhsa-runtime64": "hsa-rocr",
    "libamd_comgr": "comgr",
    "libhiprtc": "hip-runtime-amd",
    "librocblas": "rocblas",
    "libhipblas": "hipblas",
    "libhipblaslt": "hipblaslt",
    "libMIOpen": "miopen-hip",
    "librccl": "rccl",
    "librocfft": "rocfft",
    "libhipfft": "hipfft",
    "librocrand": "rocrand",
    "libhiprand": "hiprand",
    "librocsparse": "rocsparse",
    "libhipsparse": "hipsparse",
    "libhipsparselt": "hipsparselt",
    "librocsolver": "rocsolver",
    "libhipsolver": "hipsolver",
    "libroctx64": "roctracer",
    "libroctracer64": "roctracer",
    "librocm_smi64": "rocm-smi-lib",
    "libamd_smi": "amd-smi-lib",
    "libhsakmt": "hsakmt-roct",
    "libmigraphx": "migraphx",
    "librocprofiler64": "rocprofiler",
    "librocm-core": "rocm-core",
    "librocprofiler-register": "rocprofiler-register",
}
_CUDA = {
    "libcudart": "cuda-cudart",
    "libcublas": "libcublas",
    "libcublasLt": "libcublas",
    "libcufft": "libcufft",
    "libcurand": "libcurand",
    "libcusolver": "libcusolver",
    "libcusparse": "libcusparse",
    "libnvrtc": "cuda-nvrtc",
    "libcudnn": "nvidia-cudnn",
    "libcusparseLt": "nvidia-cusparselt",
    "libnccl": "nvidia-nccl",
    "libcupti": "cuda-cupti",
    "libnvToolsExt": "cuda-nvtx",
    "libnvJitLink": "libnvjitlink",
    "libnvinfer": "tensorrt",
    "libcufile": "libcufile",
    "libcudnn_ops_infer": "nvidia-cudnn",
    "libcudnn_cnn_infer": "nvidia-cudnn",
    "libcudnn_ops": "nvidia-cudnn",
    "libcudnn_cnn": "nvidia-cudnn",
    "libcudnn_adv_infer": "nvidia-cudnn",
    "libcudnn_cnn_train": "nvidia-cudnn",
}
# Whose number is that of the CUDA release (pytorch/pytorch .ci/manywheel/build_cuda.sh, read 2026-11-30). Others have
# one of their own: beside libcudart.so.12 stand libcudnn.so.9, libcusparseLt.so.0, libcufile.so.0.
_NUMBERED_AS_CUDA = frozenset({"libcudart", "libcublas", "libcublasLt", "libnvrtc", "libcupti"})
_SYSTEM = {
    "libnuma": "libnuma1",
    "libelf": "libelf1",
    "libtinfo": "libtinfo5 (ncurses-compat-libs on RHEL and Fedora)",
    "libGL": "libgl1",
    "libgomp": "libgomp1",
    "libmpi": "openmpi (libopenmpi3)",
    "libibverbs": "libibverbs1 (rdma-core)",
    "libaio": "libaio1",
    "libdrm": "libdrm2",
    "libdrm_amdgpu": "libdrm-amdgpu1",
    "libstdc++": "libstdc++6",
    "libopenblas": "libopenblas0",
    "libncurses": "libncurses5",
    "libpciaccess": "libpciaccess0",
    "libssl": "libssl{major}",
    "libcrypto": "libssl{major}",
    "libjpeg": "libjpeg62-turbo (libjpeg-turbo8 on Ubuntu)",
    "libsndfile": "libsndfile1",
    "libatomic": "libatomic1",
    "libgfortran": "libgfortran5",
    "libcrypt": "libcrypt1 (libxcrypt-compat)",
    "libglib-2": "libglib2.0-0",
    "libLLVM": "libllvm{major}",
    "librdmacm": "librdmacm1",
    "libnl-3": "libnl-3-200",
    "libc++": "libc++1",
    "libOpenCL": "ocl-icd-libopencl1",
    "libsqlite3": "libsqlite3-0",
    "libzstd": "libzstd1",
    "libgthread-2": "libglib2.0-0",
    "libSM": "libsm6",
    "libXext": "libxext6",
    "libXrender": "libxrender1",
    "libpng16": "libpng16-16",
    "libtbb": "libtbb12",
}
_TORCH = regex(r"lib(?:torch|c10|caffe2)\w{0,30}\Z")


@dataclass(frozen=True, slots=True)
class Library:
    """A library by its soname: ``stem`` without version, ``major`` as in the file name, owner and package.

    The first word of the package is its name on Debian and Ubuntu, or in AMD's repository.
    """

    name: str
    stem: str
    major: str | None
    owner: Owner
    package: str | None

    @property
    def numbered_as_cuda(self) -> bool:
        """Whether the number in its name is that of the CUDA release that it is part of."""
        return self.stem in _NUMBERED_AS_CUDA


def library(name: str) -> Library:
    """What a file name such as ``librocblas.so.4`` belongs to; owner "unknown" where nothing is known."""
    stem, _, version = name.partition(".so")
    stem, *own = re.split(r"-([\d.]{1,12})\Z", stem)
    major = version.lstrip(".") or None
    if stem in ("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler", "libnvidia-encode"):
        return Library(name, stem, major, "driver", "the NVIDIA driver")
    for owner, table in (("rocm", _ROCM), ("cuda", _CUDA), ("system", _SYSTEM)):
        if stem in table:
            package = table[stem].replace("{major}", own[0] if own else major or "")
            return Library(name, stem, major, owner, package)  # type: ignore[arg-type]
    if _TORCH.match(stem):
        return Library(name, stem, major, "torch", "torch")
    return Library(name, stem, major, "unknown", None)
