"""What the table of program texts recognises: each sample is a program's own format string, filled in."""
# A text stands whole: with its kind it reads better than in pieces.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from rocdoctor.knowledge.messages.program_errors import message_signatures
from rocdoctor.parsers.logs.message_match import find_messages
from tests.examples import rows

CASES: list[tuple[str, str, dict[str, object]]] = [
    # code for the architecture
    ("RuntimeError: HIP error: device kernel image is invalid", "no-kernel-image", {}),
    (
        "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file or directory for GPU arch : gfx1031",
        "tensile-library-missing",
        {"library": "rocBLAS", "gfx": "gfx1031"},
    ),
    (
        "StreamExecutor ROCM device (0) is of unsupported AMDGPU version 'gfx1103' . The supported AMDGPU versions are 'gfx900,gfx906,gfx908'.",
        "supported-archs-of-amd",
        {"gfx": "gfx1103", "library": "XLA (JAX, TensorFlow)"},
    ),
    (
        "UserWarning: Flash attention was not compiled for current AMD GPU architecture. Attempting to run on architecture gfx1031 (Triggered",
        "supported-archs-of-amd",
        {"gfx": "gfx1031", "library": "Flash attention", "harmless": 1},
    ),
    (
        "ValueError: Can not use Marlin int4*fp16 kernel with AMD ROCm version of PyTorch as the kernel is not compatible.",
        "supported-archs-of-amd",
        {"library": "Marlin"},
    ),
    ("NotImplementedError: Machete kernel is not supported on ROCm.", "supported-archs-of-amd", {"library": "Machete"}),
    (
        "Flash attention only supports gpu architectures in the range [sm80, sm90]. Attempting to run on a sm 7.5 gpu.",
        "flash-attention-unsupported",
        {"needs": "sm80, sm90"},
    ),
    (
        "RuntimeError: Flash attention currently only supported for compute capability >= 80",
        "flash-attention-unsupported",
        {"capability": "80"},
    ),
    (
        "requires device with capability <= (9, 0) but your GPU has capability (12, 0) (too new)",
        "attention-operator-missing",
        {"capability": "9, 0", "found": "12, 0"},
    ),
    (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5.",
        "dtype-needs-newer-gpu",
        {"what": "Bfloat16", "capability": "8.0"},
    ),
    (
        "FP8 quantized models is only supported on GPUs with compute capability >= 9.0 (e.g H100)",
        "dtype-needs-newer-gpu",
        {"what": "FP8", "capability": "9.0"},
    ),
    (
        "ValueError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')",
        "dtype-needs-newer-gpu",
        {"what": "fp8e4nv"},
    ),
    (
        "AssertionError: Dot op does not support fp8e4nv on CUDA arch < 90",
        "dtype-needs-newer-gpu",
        {"what": "fp8e4nv", "sm": "90"},
    ),
    (
        "FA2 is only supported on devices with compute capability >= 8",
        "dtype-needs-newer-gpu",
        {"library": "FA2", "capability": "8"},
    ),
    (
        "ValueError: The quantization method awq is not supported for the current GPU. Minimum capability: 75. Current capability: 70.",
        "dtype-needs-newer-gpu",
        {"what": "quantization method awq", "sm": "75", "current": "70"},
    ),
    (
        "RuntimeError: Quantization scheme is not supported for the current GPU. Required capability: 89. Current capability: 86.",
        "dtype-needs-newer-gpu",
        {"what": "Quantization scheme", "sm": "89", "current": "86"},
    ),
    ("NCCL WARN FP8 reduction support begins with sm90 capable devices.", "dtype-needs-newer-gpu", {"sm": "90"}),
    (
        "The current device has compute capability of (8, 6) which is insufficient for FP8 mixed precision training (requires a GPU Hopper",
        "dtype-needs-newer-gpu",
        {"found": "8, 6", "harmless": 1},
    ),
    (
        "ValueError: Can not use Marlin int4*fp16 kernel with a device of compute capability (7, 5), the minimum compute capability is 8.0",
        "dtype-needs-newer-gpu",
        {"library": "Marlin", "found": "7, 5"},
    ),
    (
        "RuntimeError: Current CUDA Device does not support bfloat16. Please switch dtype to float16.",
        "dtype-needs-newer-gpu",
        {"what": "bfloat16"},
    ),
    # builds
    (
        "RuntimeError: CUDA Setup failed despite CUDA being available. Please run the following command",
        "bitsandbytes-no-gpu",
        {},
    ),
    (
        "RuntimeError: No compatible ROCm binary found at /venv/bitsandbytes/libbitsandbytes_rocm64.so",
        "bitsandbytes-no-gpu",
        {"flavour": "rocm64"},
    ),
    (
        "WARNING: An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.",
        "extension-cpu-build",
        {"library": "jaxlib"},
    ),
    ("    xFormers wasn't build with CUDA support", "extension-cpu-build", {"library": "xFormers"}),
    ("rocBLAS error: Could not initialize Tensile host: No devices found", "no-hip-device", {}),
    # packages that must fit
    (
        "RuntimeError: CUDA version mismatch! DeepSpeed ops were compiled and installed with a different version than what is being used at runtime. Please re-install DeepSpeed or switch torch versions. Install CUDA version=12.1, Runtime CUDA version=11.8",
        "companion-built-for-other-cuda",
        {"package": "DeepSpeed", "package_cuda": "12.1", "torch_cuda": "11.8"},
    ),
    (
        "RuntimeError: PyTorch version mismatch! DeepSpeed ops were compiled and installed with a different version than what is being used at runtime. Please re-install DeepSpeed or switch torch versions. Install torch version=2.3, Runtime torch version=2.6",
        "extension-for-other-torch",
        {"library": "DeepSpeed", "wanted": "2.3", "found": "2.6"},
    ),
    (
        "xFormers can't load C++/CUDA extensions. xFormers was built for a different version of PyTorch or Python.",
        "extension-for-other-torch",
        {"library": "xFormers"},
    ),
    (
        "node1:77:77 [0] NCCL WARN Mismatched NCCL version detected : rank 0 version 22005 rank 1 version 21805",
        "nccl-version-differs",
        {"version": "22005", "other": "21805"},
    ),
    (
        "NCCL WARN NCCL version mismatch with remote peer 10.0.0.2<4411> (local: 2.29.7, remote 2.22.3)",
        "nccl-version-differs",
        {"version": "2.29.7", "other": "2.22.3"},
    ),
    (
        "RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (9, 1, 0) but found runtime version (8, 9, 2). PyTorch already",
        "cudnn-version-mismatch",
        {"wanted": "9, 1, 0", "found": "8, 9, 2"},
    ),
    # the driver and containers
    (
        "Error: stat /dev/kfd: no such file or directory",
        "kfd-absent",
        {"node": "/dev/kfd", "by": "docker or podman"},
    ),
    ("ROCk module is NOT live, possibly no GPU devices", "amdgpu-not-loaded", {"tool": "rocminfo"}),
    (
        "ERROR:root:Drivers not loaded (amdgpu and amd_hsmp drivers not found in modules)",
        "amdgpu-not-loaded",
        {"tool": "rocm-smi"},
    ),
    (
        "Autoinstall on 6.11.0-9-generic failed for module(s) amdgpu(10).",
        "dkms-build-failed",
        {"kernel": "6.11.0-9-generic", "module": "amdgpu"},
    ),
    (
        "Aborting build of module nvidia/550.163.01 for kernel 6.12.9-amd64 (x86_64) due to missing BUILD_DEPENDS: drm.",
        "dkms-build-failed",
        {"module": "nvidia", "version": "550.163.01", "kernel": "6.12.9-amd64"},
    ),
    (
        "Building initial module amdgpu/6.10.5-2095006.24.04 for 6.8.0-49-generic",
        "dkms-building-for",
        {"kernel": "6.8.0-49-generic"},
    ),
    ("Loading new amdgpu/6.10.5 DKMS files...", "dkms-building-for", {"module": "amdgpu", "version": "6.10.5"}),
    (
        "NVIDIA: API mismatch: the NVIDIA kernel module has version 550.120,\nbut this NVIDIA driver component has version 550.163.01.  Please make\nsure",
        "driver-library-mismatch",
        {"module": "550.120", "library": "550.163.01"},
    ),
    (
        "NVIDIA: API mismatch: this NVIDIA driver component has version\n550.163.01, but the NVIDIA kernel module's version does not match.",
        "driver-library-mismatch",
        {"library": "550.163.01"},
    ),
    (
        "kernel version 535.54.3 does not match DSO version 535.104.5 -- cannot find working devices in this configuration",
        "driver-library-mismatch",
        {"module": "535.54.3", "library": "535.104.5"},
    ),
    (
        "NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401 'invalid argument'.",
        "nvls-failed",
        {},
    ),
    (
        "Unable to communicate with GPU because it is insufficiently powered.",
        "gpu-lost",
        {"what": "insufficiently powered"},
    ),
    ("Error: requested OCI runtime nvidia is not available: invalid argument", "container-gpu-runtime", {}),
    (
        "could not inject: CDI device injection failed: no entry for nvidia.com/gpu=0",
        "container-gpu-runtime",
        {"cdi": 1},
    ),
    (
        "docker: Error response from daemon: Unable to find group render: no matching entries in group file.",
        "container-group-missing",
        {"group": "render"},
    ),
    (
        "container_linux.go: cannot set any additional groups in a rootless container",
        "container-group-missing",
        {"rootless": 1},
    ),
    (
        "Error: the '--group-add keep-groups' option is not allowed with any other --group-add options",
        "container-group-missing",
        {"rootless": 1},
    ),
    (
        "hsa api call failure at: ./rocminfo.cc:1219\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate",
        "runtime-init-failed",
        {"status": "HSA_STATUS_ERROR_OUT_OF_RESOURCES"},
    ),
    (
        "E0000 rocm_driver.cc:1] failed call to hipInit: HIP_ERROR_NotInitialized",
        "runtime-init-failed",
        {"status": "HIP_ERROR_NotInitialized"},
    ),
    # compilers and libraries
    (
        ">- DeepSpeed Op Builder: Installed CUDA version 12.4 does not match the version torch was compiled with 11.8, unable to compile cuda/cpp extensions",
        "toolkit-version-differs",
        {"toolkit": "12.4", "torch": "11.8"},
    ),
    ("RuntimeError: Cannot find ptxas", "toolkit-missing", {"path": "ptxas"}),
    (
        "RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.",
        "host-compiler-missing",
        {},
    ),
    ("NCCL WARN Failed to open libnvidia-ml.so.1", "missing-library", {"library": "libnvidia-ml.so.1"}),
    (
        "RuntimeError: cannot locate libamdhip64.so after attempted paths ['/opt/rocm/lib/libamdhip64.so']",
        "missing-library",
        {"library": "libamdhip64.so"},
    ),
    (
        "CUDA SETUP ERROR: Missing dependency: libcusparse.so.12",
        "missing-library",
        {"library": "libcusparse.so.12"},
    ),
    # memory and limits
    (
        "NCCL WARN Error: failed to create shared memory file /dev/shm/nccl-AbCdEf, error No space left on device (28)",
        "shared-memory-exhausted",
        {"who": "the collective library"},
    ),
    (
        "It appears as if there is not enough space for /dev/shm/ompi.n1/pid.7/seg (the shared-memory backing\nfile). It is likely",
        "shared-memory-exhausted",
        {"who": "Open MPI"},
    ),
    (
        "socket create failed: the maximal number of files that could be opened simultaneously was reached, try to increase the limit",
        "too-many-open-files",
        {},
    ),
    (
        "libibverbs: Warning: RLIMIT_MEMLOCK is 32768 bytes.\n    This will severely limit memory registrations.",
        "memory-registration-failed",
        {"limit_bytes": 32768},
    ),
    (
        "The OpenFabrics (openib) BTL failed to initialize while trying to\nallocate some locked memory.  This typically can indicate that the\nmemlock limits are set too low.",
        "memory-registration-failed",
        {"call": "Open MPI (openib)"},
    ),
    (
        "pthread_setaffinity_np failed: Invalid argument",
        "thread-affinity",
        {"library": "The ROCm runtime (ROCr)"},
    ),
    (
        "ValueError: Free memory on device cuda:0 (3.21/15.77 GiB) on startup is less than desired GPU memory utilization (0.9, 14.19 GiB).",
        "out-of-memory",
        {},
    ),
    ("ValueError: No available memory for the cache blocks. Try increasing", "out-of-memory", {}),
    (
        "To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, which is larger than the available KV cache memory (9.1 GiB).",
        "out-of-memory",
        {},
    ),
    (
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.",
        "out-of-memory",
        {"tried": "17179869184 bytes"},
    ),
    # many processes
    (
        "WARNING: Open MPI failed to TCP connect to a peer MPI process.  This\nshould not happen.\n\n  Local host: n1\n  PID:        77\n  Message:    connect() to 172.17.0.1:1024 failed\n  Error:      No route to host (113)",
        "collective-connection-failed",
        {"library": "Open MPI", "why": "No route to host"},
    ),
    ("NCCL WARN NET/IB : No IP interface found.", "interface-not-found", {}),
    (
        "UCX  ERROR no usable transports/devices (asked rc,cuda_copy on network:mlx5_9:1)",
        "interface-not-found",
        {"library": "UCX"},
    ),
    (
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
        "collective-error",
        {"error": "ncclRemoteError"},
    ),
    (
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.",
        "collective-error",
        {"error": "ncclSystemError"},
    ),
    (
        "n1:9:9 [0] NCCL WARN socketProgress: Connection closed by remote peer n2.cluster<51234>",
        "collective-error",
        {"address": "n2.cluster"},
    ),
    (
        "NCCL WARN NET/IB : Got completion from peer 10.1.0.4<40101> with error 12, opcode 32601, len 0, vendor err 129",
        "rdma-error",
        {"address": "10.1.0.4", "error": 12},
    ),
    (
        "NCCL WARN NET/IB: Got completion from peer 10.1.0.4<40101> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0)",
        "rdma-error",
        {"status": 12},
    ),
    (
        "NCCL WARN NET/IB : Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [1]mlx5_4:1/RoCE. Try selecting NICs of only one link type using NCCL_IB_HCA",
        "rdma-error",
        {"differ": 1},
    ),
    ("NCCL WARN NET/IB : mlx5_2:1 async fatal event: port error", "rdma-error", {"device": "mlx5_2", "port": "1"}),
    (
        "NCCL WARN failed to peer with device 1(=43000): 217 peer access is not supported between these two devices",
        "peer-access-fault",
        {},
    ),
    (
        "NCCL WARN Duplicate virtualId detected : rank 0 and rank 1 both on GPU device 43000 virtualId 0",
        "duplicate-gpu",
        {"rank": "0", "other": "1", "bus": "43000"},
    ),
    (
        "NCCL WARN Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1",
        "duplicate-gpu",
        {},
    ),
    (
        "ValueError: Inconsistent GPU visibility env vars: HIP_VISIBLE_DEVICES='0,1' vs CUDA_VISIBLE_DEVICES='2'. Please set only one",
        "visibility-differs",
        {"hip": "0,1", "cuda": "2"},
    ),
    # faults of GPUs and of jobs
    (
        "Memory access fault by GPU node-4 (Agent handle: 0x55d1c0) on address 0x7f2a00000000. Reason: Page not present or supervisor privilege.",
        "gpu-memory-fault",
        {"node": "4", "address": "0x7f2a00000000", "reason": "Page not present or supervisor privilege"},
    ),
    (
        "Memory access fault by GPU node-4 (Agent handle: 0x55d1c0) on address 0x7f2a00000000. Reason: DRAM ECC failure.",
        "gpu-memory-error",
        {"what": "DRAM ECC failure"},
    ),
    ("HW Exception by GPU node-2 (Agent handle: 0x55d1c0) reason :ECC", "gpu-memory-error", {"node": "2"}),
    ("HW Exception by GPU node-2 (Agent handle: 0x55d1c0) reason :GPU Hang", "gpu-hang", {"node": "2"}),
    (
        "Memory access fault by GPU node-2 (Agent handle: 0x55d1c0) on address 0x7f2a00000000. Reason: Generic hang recovery.",
        "gpu-hang",
        {"node": "2"},
    ),
    (
        "Memory critical error by agent node-1 (Agent handle: 0x55d1c0) on address 0x7f2a00000000. Reason: Memory in use.",
        "gpu-memory-fault",
        {"node": "1"},
    ),
    (
        ":0:rocdevice.cpp :2992: Callback: Queue 0x7f11 aborting with error : HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted",
        "gpu-memory-fault",
        {},
    ),
    (
        "sbatch: error: Batch job submission failed: Invalid generic resource (gres) specification",
        "slurm-request-refused",
        {},
    ),
    (
        "srun: error: Unable to allocate resources: Requested node configuration is not available",
        "slurm-request-refused",
        {},
    ),
    (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=812.0. Some of the step tasks have been OOM Killed.",
        "host-memory-killed",
        {"events": 1, "step": "StepId=812.0"},
    ),
    (
        "There are not enough slots available in the system to satisfy the 16\nslots that were requested",
        "mpi-no-slots",
        {},
    ),
    (
        "NotImplementedError: Using RTX 4000 series doesn't support faster communication broadband via P2P or IB. Please set",
        "p2p-unsupported-card",
        {},
    ),
    ("RuntimeError: No GPU found. A GPU is needed for quantization.", "torch-sees-no-gpu", {}),
]


@rows(("text", "kind", "values"), CASES)
def test_a_text_of_a_program_is_known(text: str, kind: str, values: dict[str, object]) -> None:
    found = [one for one in find_messages(message_signatures(), text) if one.kind == kind]
    assert found, text
    assert values.items() <= dict(found[0].values).items(), found[0].values


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # DeepSpeed goes on with another minor release of the toolkit, and says so in nearly the same words
        (
            "Installed CUDA version 12.4 does not match the version torch was compiled with 12.1 but since the APIs are compatible, accepting this combination",
            "toolkit-version-differs",
        ),
        (
            "NCCL Work update periodically: last enqueued NCCL work: 12, last completed NCCL work: 12.",
            "collective-timeout",
        ),
        ("Tesla T4 does not support bfloat16 compilation natively, skipping", "dtype-needs-newer-gpu"),
        ("NCCL WARN failed to peer with device 1(=43000): 2 out of memory", "peer-access-fault"),
        ("HW Exception by GPU node-2 (Agent handle: 0x1) reason :GPU Hang", "gpu-memory-error"),
        (
            "Memory access fault by GPU node-2 (Agent handle: 0x1) on address 0x7f0. Reason: SRAM ECC failure.",
            "gpu-memory-fault",
        ),
        ("curl: (56) Recv failure: Connection closed by remote peer 10.0.0.1<80>", "collective-error"),
        ("docker: unable to find group staff: no matching entries in group file", "container-group-missing"),
        ("NCCL INFO NET/IB : Got completion from peer", "rdma-error"),
    ],
)
def test_a_text_that_only_looks_like_it_is_not(text: str, kind: str) -> None:
    assert kind not in {one.kind for one in find_messages(message_signatures(), text)}
