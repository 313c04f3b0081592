"""The processor and other devices can reach only a small window of a GPU's memory.

Why
  Memory of a GPU is reached over PCIe through a window (BAR). Cards start with 256 MiB unless the firmware setup
  allows more ("Above 4G decoding", "Resizable BAR", "Smart Access Memory"). One GPU computes just as well with a small
  window. But the amdgpu driver allows direct copies from GPU to GPU over PCIe only if the window covers the whole
  memory; without it every such copy goes through main memory. GPUs that are joined by XGMI do not need it.

Fix
  Turn on "Above 4G decoding" and "Resizable BAR" in the firmware setup, with CSM (legacy boot) off. Old boards need a
  firmware update; some boards, enclosures and virtual machines cannot do it.

References
  Linux: drivers/gpu/drm/amd/amdgpu/amdgpu_device.c, amdgpu_device_is_peer_accessible and amdgpu_device_resize_fb_bar
"""

from __future__ import annotations

from rocdoctor.insight.links.fabric import pcie_pairs, training_gpus
from rocdoctor.insight.links.pcie_path import hypervisor_sign
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_discrete_amd_gpu, finding, not_applicable
from rocdoctor.model.evidence import first_known, known, value_or
from rocdoctor.model.facts import Gpu, Machine

_NEARLY_ALL = 0.9  # tools and the kernel count reserved memory differently by a few percent


@check(each_discrete_amd_gpu)
def small_bar(machine: Machine, gpu: Gpu) -> Outcome:
    if value_or(gpu.shared_memory, False):
        return not_applicable("this GPU shares the CPU's memory and needs no PCIe window")
    total = known(gpu.vram_bytes)
    window = first_known(gpu.visible_vram_bytes, gpu.pcie.bar_bytes)
    visible = known(window)
    if visible >= _NEARLY_ALL * total:
        return None
    if len(training_gpus(machine)) < 2:
        return None  # one GPU alone does not need it
    pairs = [pair for pair in pcie_pairs(machine, training_gpus(machine, "amd")) if gpu in pair]
    # The memory of an APU is reached without a window, so it has to be known that this is a card.
    card = value_or(gpu.integrated, True) is False
    matters = bool(pairs) and card and hypervisor_sign(machine, gpu) is None and not value_or(machine.laptop, False)
    message = (
        f"Only {_size(visible)} of this GPU's {_size(total)} of memory can be reached through its PCIe window (BAR)"
    )
    effect = ", so it cannot take part in direct peer-to-peer copies over PCIe" if pairs else ""
    return finding(
        "warning" if matters else "info",
        f"{message}{effect}.",
        evidence=[cite(window, f"{_size(visible)} visible"), cite(gpu.vram_bytes, f"{_size(total)} in all")],
        cause="iommu-acs-p2p" if matters else "",
        fix=Fix(
            "Switch on 'Above 4G decoding' and 'Resizable BAR' in the firmware setup",
            safety="reboots",
            effective="reboot",
        ),
    )


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
