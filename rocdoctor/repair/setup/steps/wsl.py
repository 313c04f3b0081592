"""WSL: the driver is that of Windows, and few things are to be installed inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rocdoctor.insight.software.torch_stack import works
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.knowledge.load import load_table, numbers, words
from rocdoctor.knowledge.software.compat import series
from rocdoctor.model.evidence import NOT_ASKED, Known, value_or
from rocdoctor.repair.setup.plan import Layer, Step, Verify
from rocdoctor.repair.setup.required_torch import RequiredTorch, wanted, wheel_for
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import VENDOR_PAGE, sentence
from rocdoctor.repair.setup.steps.python_environment import concerns_torch
from rocdoctor.repair.setup.torch_environment import Interpreter, fresh, under_test

LAYER: Layer = "driver"

_ID, _TITLE = "driver-windows", "Windows GPU driver"
_AMD_LIST = "https://rocm.docs.amd.com/projects/radeon/en/latest/docs/compatibility/wsl/wsl_compatibility.html"
_NVIDIA_PAGE = "https://docs.nvidia.com/cuda/wsl-user-guide/index.html"
_INSIDE = (
    "Do not install a kernel driver inside WSL (neither amdgpu-dkms nor nvidia-driver): the "
    "kernel reaches the Windows GPU "
    "through /dev/dxg, and /dev/kfd does not exist.",
    "rocm-smi does not work under WSL, and amd-smi only if it was built for WSL; rocminfo, nvidia-smi and torch work.",
)


def steps(situation: Situation) -> Sequence[Step]:
    """One step, under WSL alone."""
    if not situation.wsl:
        return ()
    step = _step(situation)
    rows = [] if step.state == "done" else _advice(situation)
    sources = tuple(dict.fromkeys(source for row in rows for source in words(row["s"]))) or ("docs10-inst",)
    return (
        replace(
            step,
            notes=(*step.notes, *(row["text"] for row in rows), *_INSIDE),
            sources=sources,
            table="install_wsl",
            kind=install.weakest("install_wsl", sources),
        ),
    )


def _advice(situation: Situation) -> list[Any]:
    """What AMD cards ask for under WSL; nothing where the GPU is known to be of NVIDIA."""
    if situation.gpus("nvidia"):
        return []
    table = load_table("install_wsl")
    pairs = ", ".join(f"{row['adrenalin']} for ROCm {row['rocm']}" for row in table["windows"])
    sources = tuple(dict.fromkeys(source for row in table["windows"] for source in words(row["s"])))
    driver = {"text": f"AMD Software (Adrenalin) for Windows, at least: {pairs}.", "s": list(sources)}
    page = {"text": f"AMD's page: {VENDOR_PAGE} (with WSL selected).", "s": ["docs10-inst"]}
    preview = [table["preview"]] if series(_proposed(situation)) == table["preview"]["rocm"] else []
    return [driver, *preview, table["systems"], *table["inside"], page, *table["harm"]]


def _step(situation: Situation) -> Step:
    """Done where anything reaches the GPU: torch, nvidia-smi, or the runtime."""
    machine = situation.machine
    if works(machine):
        count = value_or(machine.torch.device_count, 0)
        why = f"torch counts {count} GPU{'' if count == 1 else 's'} of Windows, so its driver works for WSL."
        return Step(_ID, _TITLE, "done", why, (cite(machine.torch.device_count, f"{count} devices"),))
    driver = machine.drivers.get("nvidia", {}).get("version", NOT_ASKED)
    if isinstance(driver, Known) and value_or(machine.nvidia_failure, None) is None:
        return Step(_ID, _TITLE, "done", f"nvidia-smi reaches driver {driver.value} of Windows.", (cite(driver),))
    for gpu in machine.gpus:
        if isinstance(gpu.gfx, Known):
            newer = _newer_rocm(situation, gpu.gfx)
            if newer is not None:
                return newer
            why = f"The runtime lists a Windows GPU ({gpu.gfx.value}), so its driver works for WSL."
            return Step(_ID, _TITLE, "done", why, (cite(gpu.gfx),))
    found = situation.finding("wsl-limits", "warning") or situation.finding("nvidia-smi-failed", "warning")
    if found is not None:
        return Step(
            _ID,
            _TITLE,
            "todo",
            found.message,
            found.evidence,
            risk="manual",
            verify=Verify(command="rocminfo", shows="the GPU as an agent with a gfx name (NVIDIA: nvidia-smi)"),
            notes=(sentence(found.fix.text),) if found.fix is not None else (),
        )
    why = "The evidence does not show whether the Windows driver works for WSL: no tool and no torch lists a GPU."
    return Step(
        _ID,
        _TITLE,
        "unknown",
        why,
        verify=Verify(command="rocminfo", shows="the GPU as an agent with a gfx name (NVIDIA: nvidia-smi)"),
        notes=(
            f"NVIDIA's page: {_NVIDIA_PAGE}"
            if situation.gpus("nvidia")
            else f"AMD lists which cards, Windows drivers, Ubuntu and ROCm releases work together: {_AMD_LIST}",
        ),
    )


def _proposed(situation: Situation) -> str:
    """The release of ROCm that this plan brings: that of the wheel, or of the packages; "" where it is not known."""
    want, here = wanted(situation), fresh(situation) or under_test(situation)
    if concerns_torch(situation):
        if not isinstance(want, RequiredTorch) or want.backend != "rocm" or not isinstance(here, Interpreter):
            return ""
        wheel = wheel_for(situation, want, here.series)
        return wheel.flavour.removeprefix("rocm") if wheel is not None else ""
    return (situation.rocm.rocm or "") if isinstance(situation.rocm, install.Route) else ""


def _newer_rocm(situation: Situation, gfx: Known[str]) -> Step | None:
    """That an older runtime reaches the GPU, and the ROCm of this plan asks for a newer driver of Windows."""
    line = series(_proposed(situation))
    row = next((one for one in load_table("install_wsl")["windows"] if one["rocm"] == line), None)
    installed = [value_or(one.version, "") for one in situation.machine.rocm]
    known = [one for one in installed if numbers(one)]
    if row is None or any(numbers(one)[:2] >= numbers(line) for one in known):
        return None
    serves = f"The runtime{f' of ROCm {known[0]}' if known else ''} lists a Windows GPU ({gfx.value})"
    return Step(
        _ID,
        f"AMD Software {row['adrenalin']} or newer in Windows",
        "unknown",
        f"{serves}, and ROCm {line}, which this plan installs, requires AMD Software (Adrenalin) {row['adrenalin']} or "
        "newer. WSL cannot show which version Windows has.",
        (cite(gfx),),
        risk="manual",
        verify=Verify(command="rocminfo", shows=f"the GPU, with the runtime of ROCm {line} too"),
        notes=("In Windows, AMD Software shows its version.",),
    )
