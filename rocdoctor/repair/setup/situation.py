"""What the steps look at: the facts, the verdicts, the goal, and the routes that the tables know for this machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from rocdoctor.insight.gpus import access
from rocdoctor.insight.gpus.presence import has_node, kfd_path
from rocdoctor.insight.software.torch_command import nvidia_release, nvidia_route
from rocdoctor.knowledge import install
from rocdoctor.knowledge.gpus.profiles import gpu_profile
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.finding import Diagnosis, Finding, Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.repair.setup.plan import NO_CHOICE, Goal, ReleaseChoice


def safe_word(text: str) -> str:
    """Text of the evidence that may stand in a command as it is; "" for anything that a shell or an option parser
    could read otherwise, and for what was masked."""
    return text if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+~@-]{0,120}", text) else ""


@dataclass(frozen=True)
class Situation:
    """One machine, one goal, and what somebody chose. ``today``: the day (2026-12-09) by which the ends of releases
    are judged; "" is the day of the tables."""

    diagnosis: Diagnosis
    goal: Goal
    choice: ReleaseChoice = NO_CHOICE
    today: str = ""

    @property
    def machine(self) -> Machine:
        """The facts."""
        return self.diagnosis.machine

    @cached_property
    def distribution(self) -> install.Distribution | None:
        """The row of the tables for this distribution; None where no table knows it."""
        return install.distribution(self.machine.os)

    @property
    def manager(self) -> str:
        """The package manager (apt, dnf, zypper, pacman); "" where it is not known."""
        return "" if self.distribution is None else self.distribution.manager

    @property
    def nixos(self) -> bool:
        """Whether wheels, which are made for other systems, do not find their libraries here."""
        return value_or(self.machine.os.id, "") == "nixos"

    @property
    def os_words(self) -> str:
        """The distribution as findings name it."""
        os = self.machine.os
        named = f"{value_or(os.id, '')} {value_or(os.version_id, '')}".strip()
        return one_line(value_or(os.pretty_name, named or "this distribution"))[:80]

    @property
    def kernel(self) -> str:
        """The release of the running kernel; "" where it is not known, or is no word for a command."""
        return safe_word(value_or(self.machine.kernel.release, ""))

    @property
    def arch(self) -> str:
        """The processor's architecture. The tables have packages of AMD for x86_64 only, so that is the assumption."""
        return value_or(self.machine.cpus.arch, "x86_64")

    @property
    def secure_boot(self) -> bool | None:
        """Whether Secure Boot is on; None where nobody knows."""
        fact = self.machine.kernel.secure_boot
        return fact.value if isinstance(fact, Known) else None

    @property
    def user(self) -> str:
        """The login name as a word of a command: ``$USER`` where it was masked or is not in the evidence, since the
        shell knows it then; "" for root, whose shell does not know the person."""
        variables = self.machine.environment.variables
        found = next((variables[name].value for name in ("SUDO_USER", "USER", "LOGNAME") if name in variables), "")
        name = "" if re.fullmatch(r"user-\d+|root", found) else safe_word(found)
        return name or ("" if value_or(self.machine.user.uid, 1) == 0 else "$USER")

    def boots_with(self, word: str) -> Known[tuple[str, ...]] | None:
        """The settings of the boot loader where they hold this word, so that the next start has it; else None."""
        words = self.machine.later.boot_words
        return words if self._grub and isinstance(words, Known) and word in words.value else None

    def boots_without(self, word: str) -> Known[tuple[str, ...]] | None:
        """The settings of the boot loader where they lack a word that the running kernel was given; else None."""
        words = self.machine.later.boot_words
        return words if self._grub and isinstance(words, Known) and word not in words.value else None

    @property
    def _grub(self) -> bool:
        """Whether the next command line is made of GRUB's settings: Red Hat and Pop keep it elsewhere."""
        found = self.distribution
        return found is not None and found.manager in ("apt", "zypper") and found.id != "pop" and not self.enclosed

    def gpus(self, vendor: str) -> tuple[Gpu, ...]:
        """The GPUs of a vendor, integrated ones too."""
        return tuple(gpu for gpu in self.machine.gpus if gpu.vendor == vendor)

    @cached_property
    def targets(self) -> tuple[install.Targets, ...]:
        """The LLVM targets of the AMD GPUs that training would use, by device."""
        return install.training_targets(self.machine.gpus)

    @cached_property
    def amd_targets(self) -> install.Targets | None:
        """What to install for on the AMD side; None without an AMD GPU that training would use."""
        return next((one for one in self.targets if one.vendor == "amd"), None)

    @cached_property
    def amd(self) -> tuple[Gpu, ...]:
        """The AMD GPUs that training would use, with those that no compute driver handles."""
        found = self.amd_targets
        return () if found is None else tuple(one for one in self.gpus("amd") if one.index not in found.left_out)

    @cached_property
    def amd_able(self) -> tuple[Gpu, ...]:
        """Those of them whose chip the compute driver handles, or may handle."""
        return () if self.refused else tuple(gpu for gpu in self.amd if kfd_path(gpu) is not False)

    @cached_property
    def refused(self) -> Finding | None:
        """That the compute driver skips all of them for good: no newer kernel or driver would take their chip."""
        found = self.finding("kfd-skipped-unsupported-gpu")
        if found is None or any(has_node(gpu) for gpu in self.amd):
            return None
        return None if found.fix is not None and found.fix.effective == "reboot" else found

    @cached_property
    def gfx(self) -> tuple[str, ...]:
        """The targets of those that can compute, each once."""
        found = self.amd_targets
        able = {value_or(gpu.gfx, "") for gpu in self.amd_able}
        return () if found is None else tuple(one for one in found.gfx if one in able)

    @cached_property
    def wsl(self) -> bool:
        """Whether this is Linux inside Windows, where the driver is not ours."""
        return "microsoft" in value_or(self.machine.kernel.release, "").lower()

    @cached_property
    def enclosed(self) -> str | None:
        """The kind of container around us; None for none, for WSL and where it is not known."""
        return access.enclosure(self.machine)

    @property
    def place(self) -> str:
        """Where we are, as the tables of routes name it: none, wsl, docker, podman ..."""
        return self.enclosed or ("wsl" if self.wsl else "none")

    @property
    def in_job(self) -> bool:
        """Whether a scheduler gave us our share of a machine that somebody else administers."""
        return access.in_job(self.machine) and value_or(self.machine.user.uid, 1) != 0

    @property
    def caretaker(self) -> str:
        """Who looks after kernel and driver, where it is not this user on this system; "" where it is."""
        if self.enclosed == "kubernetes":
            return "the administrator of this cluster's nodes"
        if self.enclosed:
            return f"the administrator of the host of this {access.container_words(self.enclosed)}"
        if self.wsl:
            return "Windows"
        return "the administrator of this cluster" if self.in_job else ""

    @cached_property
    def driver(self) -> install.DriverRoute | Unknown | None:
        """The route to the driver of the AMD GPUs; None without one that could compute.

        Of several targets the one with the most demanding route decides (a packaged driver serves the others too).
        """
        if not self.amd_able:
            return None
        if not self.gfx:
            return Unknown("the target of this GPU is not known")
        routes = [
            install.driver_route(
                self.distribution,
                gfx,
                kernel=self.kernel,
                container=self.place,
                stream=self.stream,
                secure_boot=self.secure_boot,
                arch=self.arch,
                packaged=any(one.startswith("amdgpu/") for one in value_or(self.machine.kernel.dkms, ())),
            )
            for gfx in self.gfx
        ]
        order = ("newer-kernel", "dkms")
        ready = [one for one in routes if isinstance(one, install.DriverRoute)]
        gap = next((one for one in routes if isinstance(one, Unknown)), None)
        ranked = sorted(ready, key=lambda one: order.index(one.kind) if one.kind in order else len(order))
        return ranked[0] if gap is None else gap

    @cached_property
    def nvidia_driver(self) -> install.DriverRoute | Unknown:
        """The route to the driver of the NVIDIA GPUs."""
        return nvidia_route(self.machine, kernel=self.kernel, today=self.today)

    @cached_property
    def nvidia_release(self) -> str:
        """The driver that torch will meet: the one that is there, else the oldest that the plan's step can bring."""
        return nvidia_release(self.machine, self.today)

    @cached_property
    def rocm(self) -> install.Route | Unknown:
        """The ROCm packages that the tables propose for ``rocm_targets``."""
        if self.choice.rocm:
            return self._chosen_rocm()
        container = "wsl" if self.wsl else "none"  # packages inside a container are those of its own distribution
        return install.rocm_route(
            self.distribution, self.rocm_targets, listed=self.listed, container=container, arch=self.arch
        )

    def _chosen_rocm(self) -> install.Route | Unknown:
        """The packages of the release that was chosen, or which releases the tables have here."""
        found = self.distribution
        routes = install.rocm_routes(found, self.rocm_targets, listed=self.listed) if found is not None else ()
        wanted = numbers(self.choice.rocm)
        mine = [one for one in routes if one.rocm and numbers(one.rocm)[: len(wanted)] == wanted]
        if mine and self.arch == "x86_64" and not self.wsl:
            return mine[0]
        have = ", ".join(one.rocm for one in routes if one.rocm)
        gap = f"the tables have no packages of ROCm {self.choice.rocm} for {', '.join(self.rocm_targets)} here"
        return Unknown(f"{gap}{f'; they have {have}' if have else ''}")

    @cached_property
    def rocm_targets(self) -> tuple[str, ...]:
        """The targets to install ROCm for: all of them, or among different GPUs those that some release has."""
        found = self.distribution
        if found is None or len(self.gfx) < 2 or install.rocm_routes(found, self.gfx):
            return self.gfx
        return tuple(gfx for gfx in self.gfx if gfx in install.current_targets()) or self.gfx

    @property
    def listed(self) -> bool | None:
        """False where a card that training would use is in no list of AMD that was read; None where nobody knows."""
        found = [_listed(gpu) for gpu in self.amd_able]
        return False if False in found else None if None in found or not found else True

    @property
    def stream(self) -> str:
        """The generation of ROCm that decides the release of the driver: the installed one, else the proposed one."""
        installed = {numbers(value_or(one.version, ""))[:2] for one in self.machine.rocm}
        kept = next((one.id for one in install.streams() if numbers(one.rocm)[:2] in installed), None)
        if kept is not None and not self.choice.rocm:
            return kept
        found = self.rocm
        streams = {one.id for one in install.streams()}
        return found.stream if isinstance(found, install.Route) and found.stream in streams else "newgen_10"

    def verdicts(self, check: str) -> tuple[Verdict, ...]:
        """What a check said of its subjects."""
        return tuple(verdict for verdict in self.diagnosis.verdicts if verdict.check == check)

    def passed(self, check: str) -> bool:
        """Whether a check passed for all subjects that it applies to, and applies to one."""
        states = {verdict.state for verdict in self.verdicts(check)} - {"not-applicable"}
        return states == {"pass"}

    def findings(self, checks: Iterable[str]) -> tuple[tuple[Verdict, Finding], ...]:
        """The findings of some checks, in the order of the checks."""
        return tuple(
            (verdict, verdict.finding)
            for check in checks
            for verdict in self.verdicts(check)
            if verdict.finding is not None
        )

    def finding(self, check: str, least: str = "info") -> Finding | None:
        """The first finding of a check that is at least this severe."""
        severities = {"error": ("error",), "warning": ("error", "warning"), "info": ("error", "warning", "info")}[least]
        return next((found for _, found in self.findings([check]) if found.severity in severities), None)


def _listed(gpu: Gpu) -> bool | None:
    device = value_or(gpu.pci_id, "").split(":")[-1]
    if not device:
        return None
    profile = gpu_profile("amd", device, value_or(gpu.revision, None), value_or(gpu.compute_units, None))
    return profile.rocm.listed if profile is not None and profile.rocm is not None else None
