"""Kinds of messages of which no report was answered before, each beside the sound texts that come nearest to it."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed, first_cause

_PJRT = "RuntimeError: Unable to initialize backend 'cuda': INVALID_ARGUMENT: Mismatched PJRT plugin PJRT API version "
_PLUGIN = "RuntimeWarning: JAX plugin jax_cuda12_plugin version 0.7.2 is installed, but it is not compatible with the "
_BIND = (
    "srun: error: CPU binding outside of job step allocation, allocated CPUs are: 0x200000.\n"
    "srun: error: Task launch for StepId=79.0 failed on node n1: Unable to satisfy cpu bind request\n"
)
_RUST = (
    "thread 'main' panicked at src/lib.rs:200:5:\n"
    'Unable to dynamically load the "cuda" shared library - searched for library names: ["cuda", "nvcuda"]. '
    "Ensure that `LD_LIBRARY_PATH` has the correct path to the installed library.\n"
)
_LINK = (
    "ImportError: /opt/conda/lib/python3.9/site-packages/torch/lib/libtorch_cuda_cu.so: symbol cusparseSpSM_analysis, "
    "version libcusparse.so.11 not defined in file libcusparse.so.11 with link time reference\n"
)
_BUILD = "pip install deepspeed\n  error: subprocess-exited-with-error\n  setup.py egg_info did not run successfully.\n"
_HOT = "GPU 00000000:2D:00.0\n    Temperature\n        GPU Current Temp                  : 56 C\n"
_LIMIT = "        GPU Max Operating Temp            : {} C\n"
_UNLIKE = "rocBLAS returns incorrect results when used on two GPUs with different architectures (gfx906 and gfx1030).\n"
_WORKER = "RuntimeError: DataLoader worker (pid 29969) is killed by signal: Bus error.\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{_PJRT}(0.54) and framework PJRT API version 0.51).\n", "python-package-mismatch"),
        (f"{_PLUGIN}installed jaxlib version 0.7.1, so it will not be used.\n", "python-package-mismatch"),
        (f"My job ends at once:\n{_BIND}", "cpu-affinity-or-threads"),
        (f"I start mistral.rs on the node:\n{_RUST}", "missing-shared-library"),
        (f"import torch fails:\n{_LINK}", "python-package-mismatch"),
        (f"I have nvcc 11.5.119, pytorch 2.1.0+cu121.\n{_BUILD}", "cuda-toolkit-mismatch"),
        (f"I am seeing throttling on my NVIDIA card.\n{_HOT}{_LIMIT.format(57)}", "thermal-or-power-limit"),
        (
            "The system boots, but my nvidia driver cant load because of secure boot. nvidia-smi fails.\n",
            "kernel-module-not-loaded",
        ),
        (_UNLIKE, "mixed-gpu-archs"),
        (
            "I put in another processor, and with the GTX 1060 GPU-Z shows x1 1.1. The card is slow.\n",
            "pcie-link-degraded",
        ),
        (
            'File "services.py", line 500\n    raise ConnectionError(\nConnectionError: Could not find any running Ray '
            "instance. Please specify the one to connect to.\n",
            "not-environment",
        ),
        (f"# {_WORKER}I am getting this error while training. What can I do?\n", "shm-too-small"),
    ],
)
def test_what_is_wrong_is_named(text: str, cause: str) -> None:
    assert first_cause(text) == cause


@pytest.mark.parametrize(
    "text",
    [
        # JAX
        "jax_cuda12_plugin 0.7.1 and jaxlib 0.7.1 are installed, and jax.devices() lists the GPU.\n",
        'This release raises a clearer error for "Mismatched PJRT plugin PJRT API version" on start.\n',
        f"We run on CPU only (JAX_PLATFORMS=cpu), and this is harmless:\n{_PLUGIN}installed jaxlib version 0.7.1, so "
        "it will not be used.\n",
        # srun
        "We start with --cpu-bind=none, which avoids 'Unable to satisfy cpu bind request' in nested jobs.\n",
        "srun: cpu-bind=MASK - n1, task 0 0 [412]: mask 0xf set\nThe job ran to its end.\n",
        'If you see "CPU binding outside of job step allocation", unset SLURM_CPU_BIND.\n',
        # cudarc
        'fn is_unavailable(msg: &str) -> bool {\n    msg.contains("Unable to dynamically load the \\"cuda\\" shared '
        'library")\n}\n',
        "The server takes the CPU kernel where the cuda shared library cannot be loaded. Could that be logged?\n",
        "Since I put /usr/lib/wsl/lib on LD_LIBRARY_PATH candle finds libcuda.so and runs on the GPU.\n",
        # symbols
        "ImportError: /usr/lib/libfoo.so: symbol gtk_init, version GTK_3 not defined in file libgtk-3.so.0 with link "
        "time reference\n",
        "libcusparse 12.0.0.76 is installed beside torch 2.1.0+cu121, and import torch works.\n",
        # nvcc
        f"I have nvcc 12.1.105, pytorch 2.1.0+cu121.\n{_BUILD.replace('deepspeed', 'lxml')}",
        "I have nvcc 11.8.89, pytorch 2.1.0+cu121, and pip install deepspeed builds fine.\n",
        "Which nvcc do I need for pytorch 2.1.0+cu121? nvcc 11.5 is what my distribution has.\n",
        # temperature
        f"Everything is as it should be:\n{_HOT}{_LIMIT.format(93)}",
        f"I see no throttling on my card.\n{_HOT}{_LIMIT.format(57)}",
        "The fan of my NVIDIA card is loud. Can its throttling temperature be read by a tool?\n",
        # Secure Boot
        "The nvidia driver loads with Secure Boot on, since its key is enrolled.\n",
        "Does the installer of the nvidia driver work with Secure Boot, or do I have to sign the module?\n",
        # unlike cards
        "rocBLAS results on two GPUs with different architectures differ by rounding only.\n",
        "We train on two GPUs with different architectures (gfx906 and gfx1030) in two processes, and it works well.\n",
        "Can vLLM on ROCm use two GPUs with different architectures?\n",
        # lanes
        "GPU-Z shows x16 3.0 for the card under load.\n",
        "GPU-Z shows x1 1.1 for the mining riser, as planned.\n",
        "GPU-Z shows x16 now, after I seated the card anew; it was x1 before.\n",
        # titles
        f"# {_WORKER}I got this error in Docker. Fixed it by --ipc=host. Thanks.\n",
        f"# {_WORKER}The message should name the flag of Docker that helps.\n",
        f"# {_WORKER}print('what the loader says when the shared memory is full')\n",
        # ranks that the program sends another way
        "NCCL hangs: finalize issues an allreduce, but rank 0 participates, rank 1/2 do not. The allreduce hangs.\n",
        "The collective hangs: only rank 0 calls all_gather in the evaluation code.\n",
        # daemons of Slurm try each plug-in when they start
        "slurmctld[483]: slurmctld: error:  mpi/pmix_v4: init: (null) [0]: mpi_pmix.c:195: pmi/pmix: can not load "
        "PMIx library\nslurmctld[483]: slurmctld: No parameter for mcs plugin, default values set\n",
        "slurmd: error: libpmix.so.2: cannot open shared object file: No such file or directory\nslurmd: mpi/pmix_v5: "
        "init: PMIx plugin loaded\nslurmd: slurmd version 23.11.4 started\n",
        # another way is there, and taken
        "NCCL WARN NET/OFI Unable to find a protocol that worked.  Failing initialization.\nNCCL INFO NET/IB : Using "
        "[0]mlx5_0:1/IB\nNCCL INFO comm 0x55 rank 0 nranks 16 - Init COMPLETE\n",
        "$ ldd ./app\n\tlibamdhip64.so.6 => not found\n$ export LD_LIBRARY_PATH=/opt/rocm/lib\n$ ldd ./app\n"
        "\tlibamdhip64.so.6 => /opt/rocm/lib/libamdhip64.so.6 (0x00007f)\n",
        "ConnectionError: Could not find any running Ray instance. Please specify the one to connect to.\n$ ray start "
        "--head\nRay runtime started.\n",
        "On the NVIDIA runner: ValueError: No AMD GPUs were found, skipping ROCm plugin initialization\n"
        "[CudaDevice(id=0)]\n",
        # words that other programs use too
        "You need to use at least 2 processes to use this feature of the web server (gunicorn).\n",
        f"My provider is throttling downloads.\n{_HOT}{_LIMIT.format(62)}",
        "nvcc 11.8, torch 2.1.0+cu121. `python setup.py test` of my own package prints OK.\n",
        "#SBATCH --nodes=2\ntorchrun --nnodes=1 --nproc_per_node=8 train.py\nThe data loader hangs at the end.\n",
        'def err_drv_mix_cuda_hip : Error<\n  "mixed CUDA and HIP compilation is not supported">;\n',
        # a wrong word of a program
        "$ singularity run --oci --nv docker://alpine\nWARNING: Could not find any ROCm devices on this host!\n",
    ],
)
def test_the_nearest_sound_texts_are_not_blamed(text: str) -> None:
    assert [one.cause for one in diagnosed(text).causes if one.cause != "not-environment"] == []
