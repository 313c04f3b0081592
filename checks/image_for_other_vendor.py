"""A container image is made for another vendor's GPUs than this machine's.

Why
  Images with ROCm (rocm/pytorch, rocm/vllm) contain builds for AMD GPUs; those from nvcr.io and nvidia/cuda contain
  builds for NVIDIA GPUs. With the other vendor's GPU, no program in them finds a device, whatever the container is
  given.

Fix
  Use the image for this machine's GPUs.

References
  https://hub.docker.com/r/rocm/pytorch
  https://docs.nvidia.com/deeplearning/frameworks/pytorch-release-notes/
"""

from __future__ import annotations

from rocdoctor.insight.texts.commands import CONTAINERS, image_vendor, outermost, shown_command
from rocdoctor.insight.texts.own_trouble import trouble, when_trouble_is_told
from rocdoctor.insight.texts.pasted import gpu_words, shown, training_gpus
from rocdoctor.judging.check import Evidence, Fix, Outcome, check, not_applicable, warning
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex

_NO_GPU = regex(
    r"(?i)\b(?:no|not|n't|without|cannot|nothing|any) ?(?:\w{1,12} ){0,4}?(?:GPUs?|devices?|drivers?|cards?|CUDA|HIP)\b"
    r"|\bGPU functionality\b|\bis_available\(\)\W{1,12}(?:is |gives |returns )?False\b"
)
_SIGNS = ("no-gpu-for-program", "ngc-driver-not-detected", "torch-sees-no-gpu", "no-hip-device", "no-nvidia-driver")
_IMAGE = regex(r"(?<![\w/.-])((?:nvcr\.io/[\w./-]{3,60}|rocm/[\w.-]{2,40}|nvidia/cuda)(?::[\w.-]{1,60})?)")
_STARTED = regex(r"(?i)\b(?:I|we)\b[^.]{0,40}?\b(?:run|ran|start(?:ed)?|pull(?:ed)?|used?|launch(?:ed)?|took)\b")
_WORDS = {"amd": "AMD", "nvidia": "NVIDIA"}
_INSTEAD = {
    "amd": "Use an image with ROCm (rocm/pytorch, rocm/vllm) and pass in /dev/kfd and /dev/dri",
    "nvidia": "Use an image with CUDA (nvcr.io/nvidia/pytorch, pytorch/pytorch) and start it with --gpus all",
}


@check(when_trouble_is_told(_NO_GPU, *_SIGNS), cause="wrong-backend-build")
def image_for_other_vendor(machine: Machine) -> Outcome:
    here = {gpu.vendor for gpu in training_gpus(machine)}
    told = trouble(machine, _NO_GPU, *_SIGNS)
    named: list[tuple[str, tuple[Evidence, ...]]] = [
        (box.image, shown_command(box)) for box in outermost(machine, CONTAINERS) if box.image
    ]
    spoken = (*(one.text for one in told), *(one for one in machine.told.sentences if _STARTED.search(one)))
    named += [(found[1], ()) for text in spoken for found in _IMAGE.finditer(text)]
    vendors = {image_vendor(image) for image, _ in named}
    if len(here) != 1 or len(vendors) != 1 or vendors == {""}:
        return not_applicable("GPUs and images are not of one vendor each")
    mine, theirs = here.pop(), vendors.pop()
    if mine == theirs or mine not in _INSTEAD:
        return None
    image, command = named[0]
    return warning(
        f"The image {image} is made for {_WORDS[theirs]} GPUs, and the GPU here is "
        f"{gpu_words(training_gpus(machine))}: no program in it can use it.",
        evidence=(*command, *shown(told)[:1]),
        fix=Fix(_INSTEAD[mine], safety="safe"),
        confidence="likely",
        explains=("container-device-access", "device-permission", "gpu-arch-not-built", "like-known-reports"),
    )
