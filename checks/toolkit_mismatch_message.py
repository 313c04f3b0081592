"""Compiling an extension failed because the CUDA or ROCm toolkit is missing or has a different version than torch's.

Why
  Wheels include only the runtime libraries. DeepSpeed, apex, flash-attn and other extensions are compiled with nvcc or
  hipcc from a toolkit in CUDA_HOME or ROCM_HOME, which must have the major version that torch was built with. That
  torch itself runs proves nothing about the toolkit.

Fix
  Install the toolkit in the version that torch names (without its driver) and point CUDA_HOME to it. Or install a torch
  built for the toolkit that is there, or use a prebuilt wheel of the extension.

References
  https://docs.pytorch.org/docs/stable/cpp_extension.html
  https://www.deepspeed.ai/tutorials/advanced-install/
"""

from __future__ import annotations

from rocdoctor.insight.software.installing import wanted
from rocdoctor.insight.texts.pasted import first_value, said, shown, vendors, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.shell_command import shell

_DIFFERS, _MISSING = "toolkit-version-differs", "toolkit-missing"
_COMPILER, _ARCH = "host-compiler-unfit", "arch-unknown-to-compiler"
_NO_COMPILER = "host-compiler-missing"
# Below Maxwell: CUDA 8 was the last toolkit for Fermi (2.x), 10.2 for 3.0 and 3.2, 11 for 3.5 and 3.7 (NVIDIA, "CUDA
# Toolkit, Driver, and Architecture Matrix", read 2026-11-29).
_OLDEST = 50


@check(when_said(_DIFFERS, _MISSING, _COMPILER, _ARCH, _NO_COMPILER), cause="cuda-toolkit-mismatch")
def toolkit_mismatch_message(machine: Machine) -> Outcome:
    built = machine.torch.cuda.value if isinstance(machine.torch.cuda, Known) else None
    if differs := said(machine, _DIFFERS):
        toolkit, torch = first_value(differs, "toolkit"), first_value(differs, "torch") or built
        have = f"CUDA {toolkit}" if toolkit else "another CUDA version"
        want = f"CUDA {torch}" if torch else "torch's CUDA version"
        return error(
            f"The CUDA toolkit that compiles extensions is {have}, and torch was built with {want}.",
            evidence=shown(differs),
            fix=Fix(
                f"Make the versions match: install the toolkit for {want} and set CUDA_HOME to it, or "
                f"reinstall torch "
                f"in a build for {have}; a prebuilt wheel of the extension avoids compiling",
                command=shell("export CUDA_HOME=/usr/local/cuda-{version:number}; nvcc --version", version=torch or ""),
                verify='nvcc --version; python3 -c "import torch; print(torch.version.cuda)"',
            ),
        )
    if archs := said(machine, _ARCH):
        level = first_value(archs, "sm")
        if vendors(machine) == {"amd"}:
            return _cuda_compiler_on_amd(archs, level)
        if level is not None and level.rstrip("af").isdecimal() and int(level.rstrip("af")) < _OLDEST:
            return _dropped(archs, level)
        return error(
            f"The compiler of the installed CUDA toolkit does not know sm_{level}: the toolkit is too old for this GPU "
            "(or too new for an old one).",
            evidence=shown(archs),
            fix=Fix(
                f"Install a CUDA toolkit that supports sm_{level} (11.8 for sm_89 and sm_90, 12.8 for sm_100 and "
                f"sm_120) and "
                "point CUDA_HOME to it, or name only architectures that it knows in TORCH_CUDA_ARCH_LIST",
                command="nvcc --version; nvcc --list-gpu-code",
            ),
            confidence="likely",
        )
    if unfit := said(machine, _COMPILER):
        gcc = first_value(unfit, "gcc")
        return error(
            f"The host compiler is newer than the CUDA toolkit allows (gcc {gcc} at most).",
            evidence=shown(unfit),
            fix=Fix(
                f"Compile with gcc {gcc} (CC and CXX), or install a newer toolkit of torch's major version",
                shell("export CC=gcc-{gcc:number} CXX=g++-{gcc:number}", gcc=gcc or ""),
            ),
            confidence="likely",
        )
    if none := said(machine, _NO_COMPILER):
        compiler = wanted(machine, "c-compiler")
        return error(
            "Triton finds no C compiler, which it needs at run time to build its launchers: torch.compile and Triton "
            "kernels cannot run.",
            evidence=shown(none),
            fix=Fix(
                f"Install gcc with the headers of Python ({compiler.words}) in this environment or image, or point CC "
                "to a compiler",
                compiler.command,
                "safe",
                verify="cc --version",
            ),
            confidence="certain",
        )
    return _missing(machine, built)


def _dropped(archs: tuple[Message, ...], level: str) -> Outcome:
    """A build that still names an architecture of long ago."""
    return error(
        f"The build asks for compute_{level}, which CUDA toolkits no longer compile for (CUDA 9 dropped Fermi, 12 "
        "dropped Kepler): its list of architectures is older than the toolkit. This says nothing about the GPU.",
        evidence=shown(archs),
        fix=Fix(
            f"Remove compute_{level} and sm_{level} from the build (CMakeLists.txt, setup.py: -gencode, "
            "CUDA_NVCC_FLAGS, CMAKE_CUDA_ARCHITECTURES) and name the architecture of the GPU, such as 86; only for a "
            "GPU of that age install a toolkit of its time (8.0 for 2.x, 10.2 for 3.0, 11.8 for 3.5 and 3.7)",
            command="nvcc --version; nvidia-smi --query-gpu=compute_cap --format=csv",
        ),
        confidence="likely",
    )


def _cuda_compiler_on_amd(archs: tuple[Message, ...], level: str | None) -> Outcome:
    """PTX and ptxas are NVIDIA's: a Triton, or an extension, for CUDA is what runs here."""
    return error(
        f"NVIDIA's compiler is asked for sm_{level} on a machine with an AMD GPU: the installed Triton (or extension) "
        f"is the one for CUDA, which mistakes the gfx number for a compute capability.",
        evidence=shown(archs),
        fix=Fix(
            "Uninstall every triton (pip uninstall triton pytorch-triton-rocm triton-rocm) and reinstall torch with "
            "its own triton from a ROCm index; PyPI's triton belongs to CUDA",
            "python3 -m pip list | grep -iE 'torch|triton'",
            verify='python3 -c "import torch, triton; print(torch.version.hip, triton.__version__)"',
        ),
        cause="wrong-backend-build",
        confidence="likely",
        explains=("cuda-toolkit-mismatch", "not-environment", "gpu-not-supported"),
    )


def _missing(machine: Machine, built: str | None) -> Outcome:
    messages = said(machine, _MISSING)
    path = first_value(messages, "path", "path2") or ""
    rocm = (
        first_value(messages, "variable") == "ROCM_HOME"
        or "hipcc" in path
        or (vendors(machine) == {"amd"} and "nvcc" not in path)
    )
    if not rocm and vendors(machine) == {"amd"}:
        return error(
            "An extension wants to compile with nvcc (CUDA), but this machine has an AMD GPU.",
            evidence=shown(messages),
            fix=Fix("Install the ROCm build of torch and a ROCm fork or release of the extension; nvcc is not needed"),
            cause="wrong-backend-build",
            confidence="likely",
        )
    compiler, variable = ("hipcc", "ROCM_HOME") if rocm else ("nvcc", "CUDA_HOME")
    compiler = "ptxas" if path == "ptxas" else compiler
    version = f" {built}" if built and not rocm else ""
    where = f" ({path} does not exist)" if path.startswith("/") else ""
    package = "ROCm's development packages (rocm-dev, hipcc)" if rocm else f"the CUDA toolkit{version}"
    return error(
        f"{compiler}, the compiler of the {'ROCm' if rocm else 'CUDA'} toolkit, is not found{where}: extensions "
        f"cannot be "
        "compiled. The runtime in the torch wheel does not contain it.",
        evidence=shown(messages),
        fix=Fix(
            f"Install {package} in the version that torch was built with, without its driver, and set "
            f"{variable} to its "
            "folder; or use a prebuilt wheel of the extension"
            + ("" if rocm else ". The nvidia-cuda-nvcc wheel of pip is not a complete toolkit"),
            command=shell(
                "export {variable:name}={folder}; {compiler:name} --version",
                variable=variable,
                folder="/opt/rocm" if rocm else "/usr/local/cuda",
                compiler=compiler,
            ),
            verify=shell("{compiler:name} --version", compiler=compiler),
        ),
        confidence="likely",
    )
