"""Drivers that do not build or start, GPUs on their way into a guest, and what people say of both; and the sound
texts that come nearest to each."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed, first_cause

_AKMODS = (
    "Building rpms failed; see /var/cache/akmods/nvidia/565.77-1-for-6.13.4-200.fc41.x86_64.failed.log for details\n"
)
_EXCLUDED = (
    "All matches were filtered out by exclude filtering for argument: kernel-devel\n"
    "Error: Unable to find a match: kernel-devel\n"
)
_RESET = (
    "NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from "
    "status @ kernel_channel.c:2874\n"
)
_ZEROS = ">>> a = torch.tensor([1., 2.]).to('cuda:0')\n>>> a.to('cuda:1')\ntensor([0., 0.], device='cuda:1')\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"sudo akmods --force\n{_AKMODS}", "dkms-kernel-mismatch"),
        (f"The NVIDIA driver is not installed:\n{_EXCLUDED}", "dkms-kernel-mismatch"),
        (f"Test CUDA failure: CUDA-capable device(s) is/are busy or unavailable\n{_RESET}", "gpu-hardware-fault"),
        ("NVRM: _kgspRpcRecvPoll: GSP RM heartbeat timed out\n", "gpu-firmware"),
        (
            "    raise NVMLError(ret)\npynvml.NVMLError_InsufficientPower: Insufficient External Power\n",
            "thermal-or-power-limit",
        ),
        ("ESMI Not initialized, drivers not found\nFailed to initialize AMD SMI library\n", "kernel-module-not-loaded"),
        ("docker: Error: lstat /dev/nvidia-uvm: no such file or directory\n", "kernel-module-not-loaded"),
        ("amdgpu 0000:03:00.0: amdgpu: resume of IP block <smu> failed -5\n", "gpu-firmware"),
        (
            "After installing ROCm there is no amdgpu driver active, rocminfo fails on my RX 6800.\n",
            "kernel-module-not-loaded",
        ),
        ("TASK ERROR: cannot prepare PCI pass-through, IOMMU not present\n", "container-device-access"),
        ("\tGPU 0: OK\n\tGPU 1: FAULTY\n", "gpu-hardware-fault"),
        ("ERROR: The nvidia-drm kernel module failed to build. It is required for DRM-KMS.\n", "dkms-kernel-mismatch"),
        (f"Four A100, and the copy is wrong:\n{_ZEROS}", "iommu-acs-p2p"),
        ("lsmod shows nouveau instead of nvidia, and nvidia-smi fails.\n", "kernel-module-not-loaded"),
        (
            "The module for kernel 4.13 builds, it fails in all others. clinfo of my Vega 56 finds nothing.\n",
            "dkms-kernel-mismatch",
        ),
        ("I get uncorrectable ECC errors on one A100, jobs on it fail.\n", "gpu-hardware-fault"),
        (
            "I must use sudo: I have to run ollama as root to use my RX 6700 XT, otherwise it finds none.\n",
            "device-permission",
        ),
        ("zgrep HSA /proc/config.gz\n# CONFIG_HSA_AMD is not set\nrocminfo fails\n", "kernel-module-not-loaded"),
        ("[ 2.7] amdgpu: Unknown symbol amd_iommu_free_device (err 0)\n", "dkms-kernel-mismatch"),
        ("/dev/kfd is gone since the upgrade to Fedora 41.\n", "kernel-module-not-loaded"),
        ("The screen stays dark without rock-dkms. /lib/firmware/amdgpu is empty.\n", "gpu-firmware"),
        (
            "amdgpu-dkms does not install because of the kernel: I tried 6.5, 6.7 and 6.8, all of them failed.\n",
            "dkms-kernel-mismatch",
        ),
        (
            "Please ensure all devices within the iommu_group are bound to their vfio bus driver.\n"
            "01:00.0 VGA compatible controller: NVIDIA Corporation GM107M\n",
            "container-device-access",
        ),
        (
            "GTX 1050 passed through to a KVM guest, nvidia-smi prints: Unable to determine the device handle for "
            "GPU 0000:02:01.0: Unknown Error. With <kvm><hidden state='on'/></kvm> it works.\n",
            "container-device-access",
        ),
        ("After a restart Plex cannot use the GPU until I have run nvidia-smi once.\n", "kernel-module-not-loaded"),
        ("I land on a console. dmesg shows `NVRM: API mismatch`.\n", "driver-library-mismatch"),
        (
            "In docker rocminfo works with sudo only, as my user it fails. On the host it is the same.\n",
            "device-permission",
        ),
        ("In docker rocminfo works with sudo only, as my user it fails.\n", "container-device-access"),
        ("Unattended kernel upgrades make all GPU jobs fail once the node is rebooted.\n", "dkms-kernel-mismatch"),
    ],
)
def test_what_now_has_a_cause(text: str, cause: str) -> None:
    assert first_cause(text) == cause


@pytest.mark.parametrize(
    "text",
    [
        # builds of modules
        "Building and installing nvidia-kmod                        [  OK  ]\nChecking kmods exist [  OK  ]\n",
        "dnf install httpd\nAll matches were filtered out by exclude filtering for argument: httpd\n",
        "The wireless stick needs a module: E: Unable to locate package linux-headers-6.1.0-13-amd64\n",
        # states of GPUs
        "NVRM: Assertion failed: Call not supported [NV_ERR_NOT_SUPPORTED] (0x00000056) returned from status\n",
        "try:\n    nvmlInit()\nexcept pynvml.NVMLError_DriverNotLoaded:\n    return []\n",
        "ESMI Not initialized, drivers not found\nGPU: 0\n    MARKET_NAME: AMD Instinct MI210\n    TEMPERATURE: 40 C\n",
        "Tested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: OK\n",
        "docker run --device /dev/nvidia-uvm:/dev/nvidia-uvm IMAGE nvidia-smi -L\nGPU 0: NVIDIA RTX A4000\n",
        "On the login node lsmod prints no nvidia module, as expected. The build of our docs fails there.\n",
        # guests
        "The guide explains how to bind a PCI group to VFIO. Our Proxmox host has an IOMMU and the guest runs well.\n",
        "gim info:(enable_sriov:299) Enable SRIOV\ngim info:(enable_sriov:300) Enable SRIOV vfs count = 16\n",
        "Please ensure all devices within the iommu_group are bound to their vfio bus driver.\n00:14.0 USB\n",
        "The XML of the guest has <hidden state='on'/> and nvidia-smi works. The sound of the guest crackles, a bug.\n",
        "I run nvidia-smi once a minute in cron. My GPU works. The report of the script fails to send.\n",
        # copies
        ">>> a = torch.zeros(2)\n>>> a.to('cuda:1')\ntensor([0., 0.], device='cuda:1')\n",
        "Copies between the two GPUs are right. The loss of my model is NaN after a week, as the rate is high.\n",
        # words
        "lsmod does not list nouveau, nvidia-smi works. My desktop theme is lost after each update.\n",
        "The A100 shows no uncorrectable ECC errors. My exporter fails to start: port 9400 in use.\n",
        "I need sudo to set the power limit of the RTX 3090 and that is fine. The plot of my script fails.\n",
        "After the update to kernel 6.8 my RX 7900 XTX runs as before. The docs fail to build with Sphinx 9.\n",
        "Adding iommu=pt made no difference: two MI100 run RCCL well with and without it. My parser fails on tabs.\n",
        # options, symbols and firmware of kernels
        "# CONFIG_HSA_AMD is not set\nThis box has Intel graphics only. rocminfo fails here, as it must.\n",
        "zgrep HSA_AMD /proc/config.gz\nCONFIG_HSA_AMD=y\nCONFIG_HSA_AMD_SVM=y\n",
        "v4l2loopback: Unknown symbol video_device_release (err -2)\n",
        "/lib/firmware/iwlwifi is empty and the wifi fails. My Radeon works.\n",
        "I tried kernels 6.5, 6.7 and 6.8 with amdgpu-dkms, all of them build. My linter fails on line 3.\n",
        "Unattended kernel upgrades run on our GPU nodes, we reboot weekly and jobs go on. The wiki page is broken.\n",
        "# What to do about Xid codes\n| 48 | double bit ECC error | drain the GPU |\nNo node shows one. Plots fail.\n",
    ],
)
def test_sound_texts_that_come_near(text: str) -> None:
    assert [(one.cause, one.message) for one in diagnosed(text).causes if one.cause != "not-environment"] == []
