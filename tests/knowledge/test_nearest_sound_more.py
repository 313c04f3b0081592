"""More kinds of messages that were not answered before, each beside the sound texts that come nearest to it."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed, first_cause

_CUDNN = "RuntimeError: cuDNN version mismatch: PyTorch was compiled against 7102 but linked against 7605\n"
_PYNVML = "ModuleNotFoundError: No module named 'pynvml.nvml'; 'pynvml' is not a package\n"
_ASSEMBLY = "custom_kernels.hip:404:17: error: instruction not supported on this GPU\n"
_TOOL = 'Tool lib "/opt/rocm/roctracer/tool/libtracer_tool.so" failed to load.\n'
_STD = "OSError: /usr/lib/libtransformer_engine.so: undefined symbol: _ZNKSt10filesystem4path12has_filenameEv\n"
_PMIX = "srun: error:  mpi/pmix_v5: init: (null) [0]: mpi_pmix.c:193: pmi/pmix: can not load PMIx library\n"
_NO_MPI = "srun: error: MPI: Unable to load any plugin\n"
_LOOPBACK = "RuntimeError: [gloo/transport/tcp/pair.cc:769] connect [127.0.1.1]:39381: Connection refused\n"
_GLOO = f"Two servers, one rank on each:\n{_LOOPBACK.replace('[gloo', '[/pytorch/third_party/gloo/gloo')}"
_BOX = "docker run --device=/dev/kfd --device=/dev/dri --group-add video IMAGE\n"
_NODE = "crw-rw---- 1 root render 226, 128 /dev/dri/renderD128\nRuntimeError: No HIP GPUs are available\n"
_JETSON = "On the Jetson Orin: pip3 install torch torchvision. torch.cuda.is_available() returned False.\n"
_HIP = (
    'File "E:\\whisper\\infer.py", line 20\nRuntimeError: CUDA failed with error no ROCm-capable device is detected\n'
)
_DLL = "Failed to load amdhip64.dll: amdhip64.dll: Can't open: The specified module could not be found.\n"
_GLUON = "AssertionError: mla_gluon requires gfx950 (CDNA4), got gfx942"
_SERVED = "\n\nStarted with\n```\nvllm serve /models\n```\n"
_LAUNCH = 'NCCL_P2P_DISABLE="1" NCCL_IB_DISABLE="1" {} train.py --lr 3e-4\n'


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"My job ends at once:\n{_CUDNN}", "python-package-mismatch"),
        (f"I start the training task:\n{_PYNVML}", "python-package-mismatch"),
        (f"I build vllm for my MI50:\n{_ASSEMBLY}", "kernel-lib-arch-unsupported"),
        (f"$ rocprof --hsa-trace ./a.out\n{_TOOL}", "missing-shared-library"),
        (f"import fails:\n{_STD}", "libc-or-abi-mismatch"),
        (f"The job step is refused:\n{_PMIX}{_NO_MPI}", "missing-shared-library"),
        (_GLOO, "rendezvous-name-resolution"),
        (f"{_BOX}{_NODE}", "container-device-access"),
        (_JETSON, "wrong-backend-build"),
        (f"I have an iGPU and an RX 6800 in this PC.\n{_HIP}", "igpu-shadows-dgpu"),
        (f"My PC has an RX 6800.\n{_HIP}", "driver-too-old"),
        ("My RTX 5090 does not boot: the script did not install nvidia-open.\n", "kernel-module-not-loaded"),
        ("The machine dies during make -j and dmesg says Out of memory: Killed process 4711.\n", "out-of-memory"),
        (f"# vllm 0.27.0 on MI308X: Kimi does not start: {_GLUON}{_SERVED}", "kernel-lib-arch-unsupported"),
        ("训练时提示CUDA out of memory错误，显卡是RTX3060\n", "out-of-memory"),
    ],
)
def test_what_now_has_a_cause(text: str, cause: str) -> None:
    assert first_cause(text) == cause


@pytest.mark.parametrize(
    "text",
    [
        f"My test replaces the version by a mock, covers the branch that raises {_CUDNN}",
        f"Before this change a build for gfx906 stopped with {_ASSEMBLY}",
        "// GFX11: :[[@LINE-1]]:{{[0-9]+}}: error: instruction not supported on this GPU\n",
        (
            f"$ srun --mpi=list\nMPI plugin types are...\n\tnone\n{_PMIX}"
            "$ srun --mpi=pmi2 -n 8 python train.py\nepoch 1 loss 2.31\n"
        ),
        'Link stdc++fs, so that "undefined symbol: _ZNKSt10filesystem4path12has_filenameEv" is gone.\n',
        f"{_LAUNCH.format('torchrun')}step 100 loss 3.12\n",
        f"{_LAUNCH.format('uv run')}step 100 loss 3.12\n",
        f"Our docs job as root needs no GPU: {_BOX}renderD128 belongs to group render, zero GPUs are used.\n",
        "My RTX 5090 runs well with nvidia-open. The old GTX 1080 does not need nvidia-open and has a black frame.\n",
        f"The wheels fail since yesterday:\n{_DLL}The commit that renamed the file is to be reverted.\n",
        f"# fix: Kimi does not start on MI308X: {_GLUON}{_SERVED}",
        f"# vllm 0.27.0: Kimi does not start: {_GLUON}\n\nThe wording should name the flag.{_SERVED}",
        "On my old laptop make -j was ended by the OOM killer; on the new one the build takes ten minutes.\n",
        "已解决：把batch size改成2之后就没有再出现CUDA out of memory错误了，谢谢大家。\n",
        "文档里提到No HIP GPUs are available是什么意思？我还没有安装。\n",
    ],
)
def test_what_comes_nearest_blames_nothing(text: str) -> None:
    assert [one.cause for one in diagnosed(text).causes if one.cause != "not-environment"] == []


def test_a_file_that_hides_a_package_is_no_fault_of_the_machine() -> None:
    text = "I run train.py:\nModuleNotFoundError: No module named 'torch.nn'; 'torch' is not a package\n"
    assert first_cause(text) == "not-environment"
