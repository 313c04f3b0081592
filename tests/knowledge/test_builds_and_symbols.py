"""Messages of builds, of JAX and XLA, and symbols of libraries, each beside the sound texts that come nearest to it."""

from __future__ import annotations

import pytest

from tests.message_kit import messages
from tests.text_kit import diagnosed, first_cause

_JAX = "RuntimeError: Unable to initialize backend 'rocm': Backend 'rocm' is not in the list of known backends: ['cpu']"
_JAX_EXTENSION = "WARNING:jax_plugins.xla_rocm7:rocm_plugin_extension not found"
_DSO = "dso_loader.cc:130] Couldn't open CUDA library libMIOpen.so. LD_LIBRARY_PATH:"
_CK = (
    "/src/csrc/composable_kernel/include/ck_tile/core/arch/generic_memory_space_atomic_hip.hpp:66:19: error: static "
    "assertion failed due to requirement 'x': wrong! not implemented\n1 error generated when compiling for {}."
)
_BITCODE = "error: Unknown attribute kind (86) (Producer: 'LLVM{}' Reader: 'LLVM {}')"
_CUDNN = (
    "Could not load library libcudnn_cnn_infer.so.8. Error: /opt/conda/lib/python3.10/site-packages/nvidia/cudnn/lib/"
    "libcudnn_cnn_infer.so.8: undefined symbol: _ZN11nvrtcHelper4loadEb, version libcudnn_ops_infer.so.8"
)
_HIP_SYMBOL = (
    "ImportError: /home/user/rocm/lib/python3.6/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so: "
    "undefined symbol: _ZN8hip_impl19Bundled_code_header13magic_string_E"
)
_SETUP = "No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'\n"
_RAISES = "    raise NotImplementedError('Cuda is not availabel')\nNotImplementedError: Cuda is not availabel"
_UV = "Every time uv run main.py replaces my ROCm torch by the one for CUDA. What can I do?"
_ISOLATED = (
    '  x Getting requirements to build wheel did not run successfully.\n    File "<string>", line 22, in <module>\n'
    "  ModuleNotFoundError: No module named 'torch'\n"
)
_MINOR = (
    "UserWarning: The detected CUDA version (12.4) has a minor version mismatch with the version that was used to "
    "compile PyTorch (12.1). Most likely this shouldn't be a problem.\n"
)
_SPARSE = (
    "RuntimeError: Detected that PyTorch and torch_sparse were compiled with different CUDA versions. PyTorch has CUDA "
    "version 10.2 and torch_sparse has CUDA version 11.0. Please reinstall the torch_sparse that matches your install."
)
_SDK = (
    'File "/venv/lib/python3.12/site-packages/rocm_sdk/__init__.py", line 34, in find_libraries\n'
    "    lib_entry = _dist_info.ALL_LIBRARIES[shortname]\n"
)
_NO_HCC = "The CMAKE_CXX_COMPILER:\n\n    /opt/rocm/bin/hcc\n\n  is not a full path to an existing compiler tool.\n"
_NO_HOME = (
    "  _, bare_metal_version = get_cuda_bare_metal_version(CUDA_HOME)\n"
    "TypeError: unsupported operand type(s) for +: 'NoneType' and 'str'\n"
)
_NEEDS_CUDA = "RuntimeError: Cannot find CUDA_HOME. CUDA must be available to build the package.\n"
_MFMA = "'__builtin_amdgcn_mfma_f32_16x16x16f16' needs target feature mai-insts"
_HARDLINK = "error: Failed to install: torch-2.9.0: failed to hardlink file: Invalid cross-device link (os error 18)\n"
_PTXAS = (
    "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\n"
    "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'"
)
_XFORMERS = (
    "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n"
    "    PyTorch 2.8.0 with CUDA 1209 (you have 2.8.0)\n    Python  {} (you have 3.10.12)"
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"I start my script:\n{_JAX}\n", "wrong-backend-build"),
        (f"I start my script:\n{_JAX_EXTENSION}\n{_JAX}\n", "python-package-mismatch"),
        (f"The mnist example runs on the CPU:\nI tensorflow/stream_executor/{_DSO}\n", "missing-shared-library"),
        (f"flash-attention on my RX 7900 XTX:\n{_CK.format('gfx1100')}\n", "kernel-lib-arch-unsupported"),
        (
            f"hipcc a.cpp\n/opt/rocm/amdgcn/bitcode/ocml.bc: {_BITCODE.format('16.0.6', '15.0.7')}",
            "mixed-rocm-installs",
        ),
        (f"I start whisper:\n{_CUDNN}\n", "python-package-mismatch"),
        (f"After the upgrade of ROCm:\n{_HIP_SYMBOL}\n", "mixed-rocm-installs"),
        (f"I build OpenPCDet inside the container:\n{_SETUP}{_RAISES}\n", "container-device-access"),
        (f"python 01-vector-add.py\n{_PTXAS}\n", "gpu-arch-not-built"),
        (f"import xformers\n{_XFORMERS.format('3.12.3')}\n", "python-package-mismatch"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_20'\n", "cuda-toolkit-mismatch"),
        ("I installed torch on my RX 7800 XT, and torch.version.hip is None. What is wrong?\n", "wrong-backend-build"),
        (f"On my AMD machine the GPU is idle. {_UV}\n", "wrong-backend-build"),
        ("My notebook says No module named torch, in the terminal it works. What is wrong?", "python-package-mismatch"),
        ("jax.devices() is [CpuDevice(id=0)], my A100 is not used. What is wrong?\n", "wrong-backend-build"),
        (f"import torch_sparse\n{_SPARSE}\n", "python-package-mismatch"),
        (f"python -c 'import torch'\n{_SDK}KeyError: 'hipsparselt'\n", "python-package-mismatch"),
        (f"CMake Error in CMakeLists.txt:\n{_NO_HCC}", "cuda-toolkit-mismatch"),
        (f"pip install apex\n{_NO_HOME}", "cuda-toolkit-mismatch"),
        (f"hipcc -c x.hip --offload-arch=gfx1201\nerror: {_MFMA}\n", "kernel-lib-arch-unsupported"),
        (f"I compile it on my Radeon RX 7900 XTX with ROCm:\n{_NEEDS_CUDA}", "wrong-backend-build"),
        (f"I compile it for my RTX 4090:\n{_NEEDS_CUDA}", "cuda-toolkit-mismatch"),
        ("I compile vllm:\nclang++: error: unable to execute command: Killed\n", "out-of-memory"),
        ("I train with the 8-bit Adam:\nNameError: name 'str2optimizer32bit' is not defined\n", "wrong-backend-build"),
    ],
)
def test_what_now_has_a_cause(text: str, cause: str) -> None:
    assert first_cause(text) == cause


@pytest.mark.parametrize(
    "text",
    [
        # JAX without a plug-in that nobody asked for, and one that works
        "INFO:jax._src.xla_bridge: Unable to initialize backend 'tpu': Backend 'tpu' is not in the list of known "
        "backends: ['cpu', 'rocm'].\n[RocmDevice(id=0)]\nMy loss is the same on both devices; how do I plot it?\n",
        "The release notes of jax-rocm7-plugin say that rocm_plugin_extension is built for Python 3.14 now.\n",
        # what only tracing wants
        "Couldn't open CUDA library libcupti.so.8.0. LD_LIBRARY_PATH: /usr/local/cuda/lib64\nEpoch 1: loss 0.3\n",
        # an error in code for an Instinct GPU that Composable Kernel supports, and in code of the writer
        f"My change to a header breaks the build, what is the right type?\n{_CK.format('gfx942')}\n",
        "mykernel.hip:7:1: error: unknown type name 'flaot'\n1 error generated when compiling for gfx1100.\n",
        # LLVMs of Rust
        f"cargo build\nld: {_BITCODE.format('18.1.3-rust-1.79.0-nightly', '8.0.1')}\n",
        # the build of an image has no GPU, and goes on
        f"Step 7/9: RUN pip install\n{_SETUP}Successfully installed detectron2-0.6\nHow to shrink it?\n",
        # ROCm beside a torch for NVIDIA
        "No ROCm runtime is found, using ROCM_HOME='/opt/rocm'\nGPU 0: NVIDIA GeForce RTX 4090\nEpoch 1: loss 0.3\n",
        # what torch itself calls no problem, and a build in an environment of its own
        f"I build an extension:\n{_MINOR}Successfully installed foo-1.0\nHow do I test it?\n",
        f"pip install flash-attn fails, though torch is installed:\n{_ISOLATED}",
        "nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)\n",
        # compilers that crash, code of others, and installers that have nothing to do with a GPU
        "clang++: error: clang frontend command failed due to signal (use -v to see invocation)\n",
        "relocation truncated to fit: R_X86_64_PC32 against `.nvFatBinSegment'\n",
        f"uv sync\n{_HARDLINK}",
        "CondaHTTPError: HTTP 000 CONNECTION FAILED for url <https://conda.anaconda.org/pytorch/linux-64>\n",
        "cfg = Config[0]\nTypeError: 'type' object is not subscriptable\n",
        "name = prefix + '.txt'\nTypeError: unsupported operand type(s) for +: 'NoneType' and 'str'\n",
        "KeyError: 'hipsparselt'\n",
        "I build an old extension:\nfatal error: THC/THC.h: No such file or directory\n",
        "x[-1] += 1\nIndexError: list index out of range\n",
        # words that speak of no fault
        "torch.version.hip is None in the builds for CUDA, says the manual of torch.\n",
        "requirements.txt no longer overwrites the ROCm torch. How do I write the test?\n",
        "The notebook and the terminal both import torch. How do I plot the loss?\n",
        "jax.devices() gives [CpuDevice(id=0), CudaDevice(id=0)]. How do I choose the second one?\n",
        # a kernel of HIP functions that this release refuses
        "common.cuh:533:27: error: use of undeclared identifier '__shfl_up_sync'\n",
    ],
)
def test_sound_machines_are_not_blamed(text: str) -> None:
    assert {one.cause for one in diagnosed(text).causes} <= {"not-environment"}


def test_an_old_architecture_says_nothing_of_the_gpu() -> None:
    """compute_20 went with CUDA 9, so the list of the build is old; sm_89 is too new for the toolkit."""
    old = diagnosed("nvcc fatal   : Unsupported gpu architecture 'compute_20'\n").causes[0]
    new = diagnosed("nvcc fatal   : Unsupported gpu architecture 'compute_89'\n").causes[0]
    assert "compute_20" in old.message
    assert "nothing about the GPU" in old.message
    assert "too old for this GPU" in new.message


def test_another_python_is_named_where_torch_is_the_same() -> None:
    differs = diagnosed(f"import xformers\n{_XFORMERS.format('3.12.3')}\n").causes[0].message
    assert "Python 3.12" in differs
    assert "Python 3.10" in differs
    assert "Python" not in diagnosed(f"import xformers\n{_XFORMERS.format('3.10.11')}\n").causes[0].message


def test_a_library_with_a_missing_symbol_is_not_called_missing() -> None:
    """The loader found the file: what it lacks is a symbol of another release."""
    assert "missing-library" not in {one.kind for one in messages(_CUDNN)}
    assert "missing-library" in {one.kind for one in messages("Could not load library libcudnn_cnn_infer.so.8.")}
    assert "missing-shared-library" not in {one.cause for one in diagnosed(f"I start whisper:\n{_CUDNN}\n").causes}
