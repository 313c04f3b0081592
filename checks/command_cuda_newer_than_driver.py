"""A command installs or starts a CUDA release for which the NVIDIA driver is too old.

Why
  Each release of the CUDA runtime needs a minimum driver version. The name of a package (cudatoolkit=10.2), of an
  index (cu124) or of an image (cuda:12.4) says which release it is; a release of torch has one by default. With an
  older driver torch sees no GPU; only data centre GPUs can have forward compatibility packages instead.

Fix
  Update the driver and reboot, or install a build for the CUDA release that this driver supports.

References
  https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/
"""

from __future__ import annotations

from rocdoctor.insight.texts.commands import misses_gpu, shown_command, when_commands
from rocdoctor.judging.check import Fix, Outcome, check, cite, error, not_applicable
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.lookup import cuda_floor, cuda_min_driver, cuda_without_label
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import CommandLine, Machine
from rocdoctor.model.lazy_re import regex

_CONDA = regex(r"\A(?:cudatoolkit|pytorch-cuda|cuda-toolkit)={1,2}(\d{1,2}\.\d)")
_INDEXES = ("index-url", "i", "extra-index-url", "f")
_TORCH = regex(r"\Atorch={2,3}(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)\Z")
_OTHER_INDEX = ("cpu", "rocm")
_LABEL = regex(r"(?:/|\+|\A)cu(\d\d)(\d)(?:/|\Z)")


@check(when_commands("pip", "uv", "conda"), cause="driver-too-old")
def command_cuda_newer_than_driver(machine: Machine) -> Outcome:
    driver = machine.drivers.get("nvidia", {}).get("version")
    if isinstance(machine.torch.cuda, Known) or not isinstance(driver, Known) or not numbers(driver.value):
        return not_applicable("the CUDA release of torch is known, or the driver is not")
    told = [(one, cuda) for one in machine.commands if (cuda := _cuda(one))]
    if not told or not misses_gpu(machine):
        return None
    one, cuda = told[-1]
    row, floor = cuda_min_driver(cuda), cuda_floor(cuda)
    if row is None or floor is None or numbers(driver.value) >= numbers(floor):
        return None
    return error(
        f"The command installs a build for CUDA {cuda}, which needs driver {floor} or newer; "
        f"driver {driver.value} of this machine is too old.",
        evidence=(*shown_command(one), cite(driver)),
        fix=Fix(
            f"Update the NVIDIA driver to {row.full.split('.')[0]} or newer and reboot, or install a build for the "
            "CUDA release that nvidia-smi shows for this driver",
            safety="reboots",
            effective="reboot",
            verify="nvidia-smi",
        ),
        confidence="likely",
        explains=("wrong-backend-build", "torch-sees-no-gpu-message"),
    )


def _cuda(one: CommandLine) -> str | None:
    """The CUDA release that an installation is for, as its packages or its index name it."""
    values = (value for name in _INDEXES for value in one.options.get(name, ()))
    for text in (*one.words, *values):
        if found := _CONDA.match(text):
            return found[1]
        if found := _LABEL.search(text.rstrip("/")):
            return f"{found[1]}.{found[2]}"
    indexes = [value for name in _INDEXES for value in one.options.get(name, ())]
    if one.program == "conda" or any(word in value for value in indexes for word in _OTHER_INDEX):
        return None
    named = next((found[1] for word in one.words if (found := _TORCH.match(word))), None)
    return cuda_without_label(named) if named is not None else None
