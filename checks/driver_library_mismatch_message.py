"""A program reports that NVIDIA's kernel module and libraries have different versions.

Why
  An update replaced the libraries while the old kernel module stayed loaded, two installations are mixed, or a
  container carries its own copy of the driver's libraries. NVML and CUDA then refuse to start.

Fix
  Reboot (or unload and load the nvidia modules). If the error persists, remove one of the two installations completely.
  In a container, use the libraries that the host's toolkit mounts, not the image's.

References
  https://docs.nvidia.com/deploy/cuda-compatibility/
  https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import loaded_and_installed
from rocdoctor.insight.texts.pasted import first_value, in_container, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, cite, error
from rocdoctor.model.facts import Machine

_KIND = "driver-library-mismatch"


@check(when_said(_KIND), cause="driver-library-mismatch")
def driver_library_mismatch_message(machine: Machine) -> Outcome:
    messages = said(machine, _KIND)
    library, module = first_value(messages, "library"), first_value(messages, "module")
    loaded, installed = loaded_and_installed(machine)
    facts = [one for one in (loaded, installed) if one is not None]
    # A program's own libraries may be of a third version, so what it says of them counts first.
    library = library or (installed.value if installed is not None else None)
    module = module or (loaded.value if loaded is not None else None)
    module = None if module == library else module
    words = ", ".join([f"libraries {library}"] * bool(library) + [f"module {module}"] * bool(module))
    text = "Version mismatch: the loaded NVIDIA kernel module and the driver libraries have different versions"
    text += f" ({words})." if words else "."
    compat = all("compat" in one.values for one in messages) and not (library and module)
    if compat:
        text = (
            "The CUDA library that was loaded does not match the loaded kernel driver"
            f"{f' ({words})' if words else ''}: a forward-compatibility package (cuda-compat) or a half-finished "
            "driver update is in the way."
        )
    inside = (
        " In a container the driver libraries of the host must be the ones mounted: remove libnvidia-*/libcuda and "
        "cuda-compat from the image, and regenerate the CDI file (nvidia-ctk cdi generate) after each driver update."
        if in_container(machine) or compat
        else ""
    )
    return error(
        text,
        evidence=(*shown(messages), *map(cite, facts)),
        fix=Fix(
            "Reboot, or unload and reload the nvidia modules, so that the module of the installed driver version is "
            "loaded. If the error persists, two driver installations are mixed: remove one completely and reinstall. "
            "If updates run automatically, hold the driver's packages (apt-mark hold)." + inside,
            command="cat /proc/driver/nvidia/version; dpkg -l | grep -i nvidia; sudo reboot",
            safety="reboots",
            effective="reboot",
            verify="nvidia-smi",
        ),
        confidence="certain" if not compat else "likely",
        explains=("driver-too-old", "container-device-access", "kernel-module-not-loaded"),
    )
