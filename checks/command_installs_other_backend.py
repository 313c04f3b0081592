"""The command that installed torch selects a build for another kind of GPU.

Why
  PyPI and conda's pytorch channel have torch for CUDA (on some platforms for the CPU); ROCm builds come from their own
  indexes, which have "rocm" in their address. `cudatoolkit` and `pytorch-cuda` are of no use on an AMD GPU. An index
  given with --extra-index-url is only one of two, and pip picks the higher version, so PyPI's build may win.

Fix
  Uninstall that build and install torch with --index-url from the one index for this machine's GPUs. With uv, name the
  index for torch and its companion packages in pyproject.toml, or use --torch-backend.

References
  https://pytorch.org/get-started/locally/
  https://docs.astral.sh/uv/guides/integration/pytorch/
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_command import build_for_any
from rocdoctor.insight.software.torch_stack import any_wheel_index, local_part
from rocdoctor.insight.texts.commands import misses_gpu, packages_of, shown_command, when_commands
from rocdoctor.insight.texts.pasted import gpu_words, said, shown, vendors
from rocdoctor.judging.check import Fix, Outcome, check, error, not_applicable
from rocdoctor.knowledge.software.wheel_indexes import install_torch
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import CommandLine, Machine
from rocdoctor.model.lazy_re import regex

_TORCH = frozenset(("torch", "pytorch", "torchvision", "torchaudio"))
_CUDA_OF_CONDA = regex(r"\A(?:cudatoolkit|pytorch-cuda|cuda-toolkit)\b")
_CUDA_INDEX = regex(r"/(?:nightly/)?cu1[0-3]\d\b|\Acu1[0-3]\d\Z")
_CPU_INDEX = regex(r"/(?:nightly/)?cpu\b|\Acpu\Z")
_PINNED = regex(r"(?i)\A(?:torch|pytorch)(?:==|===|@)")
_UNUSED = ("prose-cpu-instead", "gpu-said-unused")
_SYMPTOMS = ("missing-library", "cuda-driver-insufficient", "torch-without-gpu-support", "no-nvidia-driver")


@check(when_commands("pip", "uv", "conda"), cause="wrong-backend-build")
def command_installs_other_backend(machine: Machine) -> Outcome:
    if isinstance(machine.torch.version, Known) and local_part(machine.torch.version.value or ""):
        return not_applicable("the build of torch is known; other checks judge it")
    seen = vendors(machine)
    if len(seen) != 1:
        return not_applicable("no GPU of a single vendor in this evidence")
    mine = next(iter(seen))
    builds = [(one, build) for one in machine.commands if (build := _build(one))]
    # The last installation is the one that is there.
    last = builds[-1] if builds else None
    if last is None or last[1] == {"amd": "rocm", "nvidia": "cuda"}[mine]:
        return None
    one, build = last
    if build == "either":
        return _either(machine, one) if mine == "amd" else None
    if isinstance(machine.torch.version, Known):
        return not_applicable("the version of torch is known; other checks judge it")
    if build == "default" and mine == "nvidia":
        return None
    symptoms = said(machine, *_SYMPTOMS)
    if not (misses_gpu(machine) or symptoms) or (build == "default" and one.program == "pip"):
        return None  # pip's own index is judged by torch-sees-no-gpu-message
    name = {"cuda": "a CUDA", "cpu": "a CPU-only", "rocm": "a ROCm", "default": "the CUDA"}[build]
    wanted = "ROCm" if mine == "amd" else "CUDA"
    return error(
        f"The command installs {name} build of torch, and the {gpu_words(machine.gpus)} needs a {wanted} build.",
        evidence=(*shown_command(one), *shown(symptoms)[:1]),
        fix=Fix(
            f"Uninstall torch and install it with --index-url from an index of {wanted} builds"
            + (
                "; conda's pytorch channel has no ROCm builds, so use pip inside the environment"
                * (one.program == "conda")
            ),
            command=build_for_any(machine, seen).command or install_torch(any_wheel_index(mine, machine)),
            safety="risky",
            verify='python3 -c "import torch; print(torch.__version__, torch.version.hip)"',
        ),
        confidence="likely",
        explains=("gpu-arch-not-built", "missing-shared-library", "driver-too-old", "kernel-module-not-loaded"),
    )


def _either(machine: Machine, one: CommandLine) -> Outcome:
    """An index for ROCm beside PyPI: pip takes the highest version of the two, and PyPI's has code for CUDA."""
    symptoms = said(machine, *_SYMPTOMS, *_UNUSED)
    if not (misses_gpu(machine) or symptoms):
        return None
    return error(
        "The command asks for torch without an exact version, and the ROCm index is used in addition to PyPI "
        "(--extra-index-url): pip "
        "picks the highest version of both, and if PyPI's is newer, that is the CUDA or CPU build, not a ROCm build.",
        evidence=(*shown_command(one), *shown(symptoms)[:1]),
        fix=Fix(
            "Name only the ROCm index with --index-url for torch, torchvision and torchaudio, or pin a version that "
            "it has, with its label (+rocm...); reinstall what is there",
            command=build_for_any(machine, ("amd",)).command or install_torch(any_wheel_index("amd", machine)),
            safety="risky",
            verify='python3 -c "import torch; print(torch.__version__, torch.version.hip)"',
        ),
        confidence="likely",
        explains=("gpu-arch-not-built", "torch-sees-no-gpu-message"),
    )


def _build(one: CommandLine) -> str:
    """The build of torch that a command brings: rocm, cuda, cpu, default (of PyPI or a channel), either
    (ROCm's index beside PyPI); "" where none."""
    if one.program not in ("pip", "uv", "conda") or not _TORCH & set(packages_of(one)):
        return ""
    if one.program == "conda":
        cuda = any(_CUDA_OF_CONDA.search(word) or "=cuda" in word or "_cuda" in word for word in one.words)
        cpu = "cpuonly" in one.words or any("cpu" in word for word in one.words if word.startswith("pytorch"))
        return "cuda" if cuda else "cpu" if cpu else "default"
    if any("://" in word or word.endswith(".whl") or "+" in word for word in one.words):
        return ""
    named = " ".join(
        value for key in ("index-url", "i", "default-index", "torch-backend") for value in one.options.get(key, ())
    )
    added = " ".join(
        value for key in ("extra-index-url", "f", "find-links", "index") for value in one.options.get(key, ())
    )
    if not named and "rocm" in added.lower() and not any(_PINNED.match(word) for word in one.words):
        return "either"
    if "rocm" in f"{named} {added}".lower() or "amd" in f"{named} {added}" or "gfx" in f"{named} {added}":
        return "rocm"
    if _CUDA_INDEX.search(named) or _CUDA_INDEX.search(added):
        return "cuda"
    if _CPU_INDEX.search(named):
        return "cpu"
    if named or added or {"r", "requirement", "group", "e", "editable"} & set(one.options):
        return ""
    return "default"
