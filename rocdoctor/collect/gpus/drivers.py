"""Versions of the GPU drivers: what the module says, then what a tool or the kernel log says of it."""

from __future__ import annotations

from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.gpus.tools import amd_smi, nvidia_smi, rocm_smi, rocminfo
from rocdoctor.collect.recorded_outputs import stated
from rocdoctor.collect.system.kernel import said_in_log
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import Fact, Known, Source, first_known
from rocdoctor.model.facts import Kernel
from rocdoctor.parsers.nvidia.nvidia_packages import parse_driver_libraries
from rocdoctor.parsers.nvidia.nvidia_proc import parse_nvidia_version

# Lists of packages that people hold, and pasted text with logs of package managers.
_LISTS = ("run dpkg -l", "run rpm -qa", "run installed-rpms", "run pacman -Q", "text")


def collect_drivers(host: Host, tools: Tools, kernel: Kernel) -> dict[str, dict[str, Fact[str]]]:
    """By driver: its ``version``, and for NVIDIA ``cuda`` (the newest CUDA that it serves) and ``libraries`` (the
    version of its libraries, where a list of packages or the name of a file tells it).

    Only drivers that are loaded or that a tool has talked to. A driver that came with the kernel has no version of its
    own ("absent").
    """
    found = {name: {"version": version} for name, version in kernel.module_versions.items()}
    nvidia, cuda = _nvidia(host, tools, kernel)
    for name, told in (("amdgpu", _amdgpu(tools, kernel)), ("nvidia", nvidia)):
        stands = found.get(name)
        if isinstance(told, Known) and not (stands and isinstance(stands["version"], Known)):
            found[name] = {"version": told}
    if isinstance(cuda, Known):
        found.setdefault("nvidia", {"version": nvidia})["cuda"] = cuda
    if "nvidia" in found and (libraries := _libraries(host)) is not None:
        found["nvidia"]["libraries"] = libraries
    return found


def _libraries(host: Host) -> Known[str] | None:
    for question in _LISTS if host.kind != "live" else ():
        answer = host.ask(question) if question in host.available() else None
        told = parse_driver_libraries(answer.text) if answer is not None and answer.ok else None
        if told is not None:
            return Known(told.version, Source(question, told.line))
    return None


def _amdgpu(tools: Tools, kernel: Kernel) -> Fact[str]:
    facts: list[Fact[str]] = []
    for smi, answer in tools.of(amd_smi.TOOL):
        facts.append(stated(smi.driver_version, answer, smi.lines.get("driver_version")))
        facts += [stated(gpu.get("driver_version"), answer, gpu.line_of("driver_version")) for gpu in smi.gpus[:1]]
    for listing, answer in tools.of(rocm_smi.TOOL):
        facts.append(stated(listing.driver_version, answer, listing.lines.get("driver_version")))
    for info, answer in tools.of(rocminfo.TOOL):
        facts.append(stated(info.module_version, answer, info.lines.get("module_version")))
    facts += said_in_log(kernel.log, "driver-version", "version", "amdgpu")
    release = kernel.release.value if isinstance(kernel.release, Known) else None
    # For the driver of the kernel itself the tools print the kernel's release instead of a version.
    return first_known(*(fact for fact in facts if not (isinstance(fact, Known) and fact.value == release)))


def _nvidia(host: Host, tools: Tools, kernel: Kernel) -> tuple[Fact[str], Fact[str]]:
    answer = host.ask("read /proc/driver/nvidia/version")
    module = parse_nvidia_version(answer.text) if answer.ok else None
    facts: list[Fact[str]] = [stated(module.version, answer, module.line) if module else answer.unknown()]
    cudas: list[Fact[str]] = []
    for smi, output in tools.of(nvidia_smi.TOOL):
        facts.append(stated(smi.driver_version, output, smi.lines.get("driver_version")))
        cudas.append(stated(smi.cuda_version, output, smi.lines.get("cuda_version")))
    facts += said_in_log(kernel.log, "driver-load", "version", "NVRM")
    return first_known(*facts), first_known(*cudas)
