"""The wheel of torch for a machine and the command that brings it: one judgement for findings, fixes and set-up."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rocdoctor.host.base import NEW_ENVIRONMENT
from rocdoctor.insight.gpus.access import enclosure, is_wsl
from rocdoctor.insight.gpus.nvidia import for_one_driver, is_server_part
from rocdoctor.insight.gpus.presence import is_driven, of_vendor
from rocdoctor.insight.software.torch_stack import (
    SELECTOR_PAGE,
    compute_gpus,
    for_training,
    guessed,
    reinstall,
)
from rocdoctor.knowledge import install
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.software.compat import driver_package, driver_supports, series, torch_releases
from rocdoctor.model.evidence import NOT_ASKED, Known, Unknown, is_known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.finding import Fix
from rocdoctor.model.shell_command import ShellCommand, fits, joined, shell

_FAMILY = ("torch", "torchvision", "torchaudio")
# The interpreter of most machines, where the evidence does not show which one it is.
_USUAL = "3.12"


def pythons() -> tuple[str, ...]:
    """Every Python series that a release of the tables is published for, oldest first."""
    every = {one for release in torch_releases() for one in release.python if not one.endswith("t")}
    return tuple(sorted(every, key=numbers))


def driver_version(machine: Machine, driver: str) -> str:
    """The release of a packaged kernel driver (amdgpu, nvidia); "" where it is not known."""
    return value_or(machine.drivers.get(driver, {}).get("version", NOT_ASKED), "")


def nvidia_route(machine: Machine, *, kernel: str = "", today: str = "") -> install.DriverRoute | Unknown:
    """The route to the driver of the NVIDIA GPUs, for checks and set-up.

    ``kernel``: its release as a word of commands; ``today``: the day by which the ends of branches are judged.
    """
    capabilities = served_capabilities(machine)
    return install.nvidia_driver(
        install.distribution(machine.os),
        capabilities[0] if capabilities else None,
        newest=capabilities[-1] if capabilities else None,
        kernel=kernel,
        container=enclosure(machine) or ("wsl" if is_wsl(machine) else "none"),
        secure_boot=value_or(machine.kernel.secure_boot, None),
        arch=value_or(machine.cpus.arch, "x86_64"),
        server=any(is_server_part(gpu) for gpu in for_one_driver(machine)),
        today=today,
    )


def nvidia_release(machine: Machine, today: str = "") -> str:
    """The NVIDIA driver that torch will meet: the one that is there, else the oldest that set-up can bring.

    "" where a driver is bound whose release is not known, or where nobody knows whether one is; also before the guest
    driver of a vGPU, whose release follows that of its host.
    """
    cards, there = of_vendor(machine, "nvidia"), driver_version(machine, "nvidia")
    if there or not cards or any(is_driven(gpu) is not False for gpu in cards):
        return there
    if any(value_or(gpu.vgpu, False) for gpu in cards):
        return ""
    route = nvidia_route(machine, kernel=value_or(machine.kernel.release, ""), today=today)
    return route.least if isinstance(route, install.DriverRoute) else ""


def served_capabilities(machine: Machine) -> list[str]:
    """The compute capabilities of the NVIDIA GPUs that one driver serves, oldest first: it decides for all of them."""
    told = {value_or(gpu.compute_capability, "") for gpu in for_one_driver(machine)} - {""}
    return sorted(told, key=numbers)


def rocm_wheel(
    machine: Machine, gfx: Sequence[str], python: str, runs: install.WheelIndex | None = None
) -> install.WheelIndex | None:
    """The newest wheel (or the one that ``runs`` here already), unless the packaged kernel driver does not serve it.

    Then that of the installed ROCm, which the driver serves. Which ROCm is installed decides nothing else: a wheel
    brings its own libraries.
    """
    newest = runs or install.wheel(gfx, python, wsl=is_wsl(machine))
    package = driver_package(driver_version(machine, "amdgpu"))
    if newest is None or package is None or driver_supports(package, newest.flavour.removeprefix("rocm")) is not False:
        return newest
    for one in machine.rocm:
        other = install.wheel(gfx, python, value_or(one.version, ""))
        if other is not None and driver_supports(package, other.flavour.removeprefix("rocm")):
            return other
    return newest


def wheel_of(machine: Machine, gpu: Gpu) -> install.WheelIndex | None:
    """The wheel for a GPU and those of its vendor that train beside it; None where the tables have none."""
    python = series(value_or(machine.torch.python, "")) or _USUAL
    if (own := _new_environment(machine)) is not None and own.python:
        python = own.python
    arch = value_or(machine.cpus.arch, "x86_64")
    if arch not in install.wheel_processors() or (gpu.vendor != "nvidia" and arch != "x86_64"):
        return None
    if gpu.vendor == "nvidia":
        capability = next(iter(served_capabilities(machine)), value_or(gpu.compute_capability, ""))
        return install.cuda_wheel(capability, python, nvidia_release(machine), arch) if capability else None
    beside = [one for one in compute_gpus(machine, "amd") if for_training(one) and isinstance(one.gfx, Known)]
    targets = tuple(dict.fromkeys(value_or(one.gfx, "") for one in [gpu, *beside]))
    found = rocm_wheel(machine, targets, python) or rocm_wheel(machine, targets[:1], python)
    # One that needs a variable beside it is a plan of several steps, not a command.
    return None if found is None or found.environment or found.missing else found


def install_command(machine: Machine, gpu: Gpu) -> ShellCommand:
    """What brings torch for a GPU where none is; "" where no wheel is known."""
    return _command(machine, gpu, replaces=False)


def right_build(machine: Machine, gpu: Gpu) -> Fix:
    """The fix for a torch that was built for something else: the build that set-up proposes, in its place."""
    return _with_command(_command(machine, gpu, replaces=True))


def build_for_any(machine: Machine, vendors: Collection[str]) -> Fix:
    """The same for the first GPU of these vendors that the tables have a build for, cards before integrated ones."""
    mine = sorted((gpu for gpu in machine.gpus if gpu.vendor in vendors), key=lambda one: not for_training(one))
    commands = (_command(machine, gpu, replaces=True) for gpu in mine)
    return _with_command(next(filter(None, commands), ShellCommand()))


def _with_command(command: ShellCommand) -> Fix:
    fix = reinstall(None)
    if not command:
        return fix
    return Fix(
        f"Install torch and its companion packages together, from the index of the right build ({SELECTOR_PAGE})",
        command=command,
        safety=fix.safety,
        verify=fix.verify,
    )


def _command(machine: Machine, gpu: Gpu, *, replaces: bool) -> ShellCommand:
    wheel = wheel_of(machine, gpu)
    if wheel is None and not replaces and gpu.vendor == "amd":
        wheel = _for_the_cpu(machine)
    if wheel is None:
        # No index has a build for this GPU, processor or Python, or nothing tells which: set-up says what is missing.
        return ShellCommand()
    args = wheel.args
    if not is_known(machine.torch.python) and wheel.kind != "amd":
        # Which releases there are for that Python is not known: pip takes the newest one of the index.
        args = tuple(one.partition("==")[0] for one in args)
    path, install_words = value_or(machine.torch.interpreter, ""), ("-m", "pip", "install", *args)
    if not path or not fits(path, "path"):
        gone = shell("pip uninstall -y {names}", names=_FAMILY)
        new = shell("{words:option}", words=("pip", "install", *args))
        return joined([gone, new] if replaces else [new])
    if _of_the_system(machine):
        # The interpreter of the system stays as it is: torch goes where set-up puts it.
        python = f"{NEW_ENVIRONMENT}/bin/python"
        own = _new_environment(machine)
        program = own.interpreter if own is not None else "python3"
        made = shell("{program:path} -m venv {folder:path}", program=program, folder=NEW_ENVIRONMENT)
        return joined([made, shell("{python:path} {words:option}", python=python, words=install_words)])
    gone = shell("{python:path} -m pip uninstall -y {names}", python=path, names=_FAMILY)
    new = shell("{python:path} {words:option}", python=path, words=install_words)
    return joined([gone, new] if replaces else [new])


def _for_the_cpu(machine: Machine) -> install.WheelIndex | None:
    """What computes on the CPU where AMD has nothing for this processor; None where it has."""
    arch = value_or(machine.cpus.arch, "x86_64")
    if not install.no_rocm_for(arch) or arch not in install.wheel_processors():
        return None
    own = _new_environment(machine)
    python = own.python if own is not None and own.python else series(value_or(machine.torch.python, "")) or _USUAL
    return install.cpu_wheel(python)


def _new_environment(machine: Machine) -> install.Distribution | None:
    """The distribution whose interpreter makes a new environment; None where torch goes into the one that is there."""
    return install.distribution(machine.os) if _of_the_system(machine) else None


def _of_the_system(machine: Machine) -> bool:
    """Whether other programs rest on this interpreter; that of a container serves its image alone."""
    inside = value_or(machine.container.kind, "none") not in ("none", "wsl")
    kept = value_or(machine.torch.externally_managed, False)
    return kept or (not inside and (guessed(machine) or value_or(machine.torch.environment, "") == "system"))
