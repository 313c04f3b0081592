"""An extension (bitsandbytes, onnxruntime) was installed in a build that does not support this kind of GPU.

Why
  Extensions ship compiled libraries for certain backends and CUDA or ROCm versions. If none fits, they fall back to the
  CPU or fail at the first call; the GPU and its driver work.

Fix
  Install the build of the extension for this backend (a ROCm or CUDA wheel of the same version as torch), or build it
  from source.

References
  https://huggingface.co/docs/bitsandbytes/main/en/installation
  https://onnxruntime.ai/docs/execution-providers/
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, said, shown, vendors, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error, warning
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import ShellCommand, shell

_CPU_BUILD = "extension-cpu-build"
_KINDS = ("bitsandbytes-no-gpu", "onnxruntime-provider-missing", _CPU_BUILD)


@check(when_said(*_KINDS), cause="wrong-backend-build")
def extension_without_gpu_build(machine: Machine) -> Outcome:
    messages = said(machine, *_KINDS)
    here = vendors(machine)
    if provider := first_value(messages, "provider"):
        package = "onnxruntime-rocm" if here == {"amd"} else "onnxruntime-gpu"
        return warning(
            f"The installed onnxruntime was built without {provider}.",
            evidence=shown(messages),
            fix=Fix(
                f"Uninstall onnxruntime and install the build with that provider ({package})",
                shell("pip uninstall -y onnxruntime onnxruntime-gpu; pip install {package}", package=package),
                "risky",
            ),
            confidence="likely",
        )
    if (plain := said(machine, _CPU_BUILD)) and len(plain) == len(messages):
        library = first_value(plain, "library") or "library"
        package = ShellCommand('"jax[cuda12]"') if library == "jaxlib" else library
        return warning(
            f"The installed {library} was built without GPU support.",
            evidence=shown(plain),
            fix=Fix(
                f"Install the build of {library} for this GPU and for the installed release of its framework",
                shell("pip install -U {package}", package=package),
                "risky",
            ),
            confidence="likely",
        )
    kind = "ROCm" if here == {"amd"} else "CUDA" if here == {"nvidia"} else "GPU"
    return (error if here else warning)(
        f"The installed bitsandbytes has no {kind} library that fits: it is a build for another backend or version.",
        evidence=shown(messages),
        fix=Fix(
            f"Install a bitsandbytes release with a library for the {kind} version of the installed torch (ROCm needs "
            "a release with ROCm wheels or a build from source), and run python -m bitsandbytes for its own diagnosis",
            command="pip install -U bitsandbytes; python -m bitsandbytes",
            safety="risky",
        ),
        confidence="likely",
        explains=("missing-shared-library",),
    )
