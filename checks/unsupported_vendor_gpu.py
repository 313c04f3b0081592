"""rocdoctor does not judge GPUs of this vendor.

Why
  rocdoctor knows the compute stacks of AMD (ROCm) and NVIDIA (CUDA). A discrete GPU from Intel or another vendor is
  listed with its facts, but its driver, its compute runtime and its torch build are not judged. It is not missing and
  not broken.

Fix
  There is nothing to do here. For Intel GPUs, torch has the `xpu` device, with its own builds.

References
  https://pytorch.org/docs/stable/notes/get_start_xpu.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import MODULES, is_integrated
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_gpu, info, not_applicable
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Gpu, Machine


@check(each_gpu)
def unsupported_vendor_gpu(machine: Machine, gpu: Gpu) -> Outcome:
    if gpu.vendor in MODULES:
        return None
    if is_integrated(gpu):
        return not_applicable("an integrated GPU of another vendor drives the display and is not used for training")
    known(gpu.pci_id)
    name = "Intel" if gpu.vendor == "intel" else "a vendor other than AMD and NVIDIA"
    text = "Train on it with the xpu build of torch" if gpu.vendor == "intel" else "Follow the guide of its vendor"
    return info(
        f"This GPU is from {name}: rocdoctor lists it, but judges only the compute stacks of AMD and NVIDIA.",
        evidence=[cite(gpu.pci_id), cite(gpu.driver)],
        fix=Fix(text, safety="safe"),
    )
