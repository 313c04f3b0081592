"""The NVIDIA driver is too old for the CUDA version that torch was built with.

Why
  A CUDA build runs on every driver since the first one for its CUDA major version (minor version compatibility: 450 for
  CUDA 11, 525 for 12, 580 for 13). Below that, torch says "The NVIDIA driver on your system is too old" and finds no
  GPU. In between it runs, but code that needs a newer driver (some PTX code) does not.

Fix
  Update the driver on the host (a container uses the host's), or install a torch flavour with an older CUDA version.

References
  https://docs.nvidia.com/deploy/cuda-compatibility/
  https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import is_enclosed, nvidia_gpus
from rocdoctor.insight.software.torch_command import wheel_of
from rocdoctor.insight.software.torch_stack import installed, needs_torch, of_interpreter
from rocdoctor.judging.check import Fix, Outcome, check, cite, error, machine_with_nvidia, not_applicable, unknown
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.lookup import cuda_floor, cuda_min_driver
from rocdoctor.knowledge.software.wheel_indexes import newest_cuda_flavour, wheel_url
from rocdoctor.model.evidence import NOT_ASKED, Known, known, value_or
from rocdoctor.model.facts import Machine


@check(needs_torch(machine_with_nvidia), cause="driver-too-old")
@of_interpreter
def cuda_driver_too_old_for_wheel(machine: Machine) -> Outcome:
    torch = machine.torch
    version = installed(torch)
    cuda = known(torch.cuda)
    if cuda is None:
        return not_applicable("this torch is not a CUDA build")
    loader = machine.environment.variables.get("LD_LIBRARY_PATH")
    if value_or(torch.device_count, 0):
        return None  # it works, by forward compatibility if not otherwise
    if loader is not None and "compat" in loader.value:
        raise unknown("a forward compatibility package comes before the driver's library", "undecided")
    facts = machine.drivers.get("nvidia", {})
    driver, speaks = facts.get("version", NOT_ASKED), facts.get("cuda", NOT_ASKED)
    row, floor = cuda_min_driver(cuda), cuda_floor(cuda)
    if row is None or floor is None:
        return not_applicable(f"the tables have no driver for CUDA {cuda}")
    if isinstance(driver, Known) and numbers(driver.value):
        if numbers(driver.value) >= numbers(floor):
            return None
        has, evidence = f"driver {driver.value}", [cite(torch.cuda), cite(driver)]
    else:
        major = numbers(known(speaks))[:1]
        if not major or major >= numbers(cuda)[:1]:
            return None
        has, evidence = f"driver for CUDA {known(speaks)}", [cite(torch.cuda), cite(speaks)]
    if is_enclosed(machine) and not isinstance(torch.device_count, Known):
        # The container toolkit puts such a package in place by itself where the image brings one.
        raise unknown("a forward compatibility package of the container may make up for the driver", "undecided")
    twelve = numbers(value_or(driver, "")) >= (525,) or numbers(value_or(speaks, "")) >= (12,)
    ours = next(filter(None, (wheel_of(machine, gpu) for gpu in nvidia_gpus(machine))), None) if twelve else None
    older = newest_cuda_flavour(12 if twelve else 11) if ours is None else ours.flavour  # that of set-up
    index = f" ({wheel_url(older)})" if older is not None else ""
    return error(
        f"torch {version} is built with CUDA {cuda}, which needs an NVIDIA driver {floor} or newer; the {has} of this "
        "machine is too old.",
        evidence=evidence,
        fix=Fix(
            f"Update the NVIDIA driver to {row.full.split('.')[0]} or newer and reboot, or use an older torch that is "
            f"built for the CUDA version of this driver{index}",
            safety="reboots",
            effective="reboot",
            verify="nvidia-smi",
        ),
        confidence="certain" if isinstance(torch.device_count, Known) else "likely",
        explains=("torch-gpu-count-mismatch",),
    )
