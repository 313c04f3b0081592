"""The running kernel: release, command line, secure boot, taint, IOMMU."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.gpus.tools import amd_smi, lstopo
from rocdoctor.collect.reading import read_fact, word
from rocdoctor.collect.recorded_outputs import outputs, stated, sysctl
from rocdoctor.collect.system import modules
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import Fact, Known, Unknown, convert, first_known
from rocdoctor.model.facts import Kernel, KernelLog
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import to_int
from rocdoctor.parsers.kernel.running_kernel import (
    Cmdline,
    parse_cmdline,
    parse_mokutil,
    parse_version,
    secure_boot_variable,
)

_RELEASE = "/proc/sys/kernel/osrelease"
_EFI_VARIABLE = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_IOMMU_GROUPS = "list /sys/kernel/iommu_groups/*"
_SMI_KERNEL = regex(r"OS_KERNEL_VERSION\"?:[ \t]*\"?([0-9][^\s\",]{2,80})", re.IGNORECASE)


def prefetch(host: Host) -> None:
    """Start on what is always asked."""
    paths = (_RELEASE, "/proc/cmdline", "/proc/uptime", "/proc/sys/kernel/tainted", _EFI_VARIABLE)
    host.prefetch([*(f"read {path}" for path in paths), _IOMMU_GROUPS])
    modules.prefetch(host)


def collect_kernel(host: Host, tools: Tools) -> Kernel:
    """Everything about the kernel except its log."""
    prefetch(host)
    present, all_present = modules.loaded(host)
    blacklisted, options = modules.modprobe(host)
    cmdline = read_fact(host, "/proc/cmdline", word)
    return Kernel(
        release=_release(host, tools),
        cmdline=cmdline,
        parameters=convert(cmdline, _parameters),
        modules=present,
        modules_complete=all_present,
        module_versions=modules.versions(host, present),
        module_parameters=modules.parameters(host, present),
        blacklisted=blacklisted,
        modprobe_options=options,
        secure_boot=_secure_boot(host),
        taint=sysctl(host, "kernel/tainted", to_int),
        dkms=modules.dkms(host),
        uptime_s=read_fact(host, "/proc/uptime", _seconds),
        iommu_default=_iommu_default(cmdline) if isinstance(cmdline, Known) else cmdline,
        iommu_groups=_iommu_groups(host),
    )


def _parameters(text: str) -> Mapping[str, str]:
    return {name: value or "" for name, value in parse_cmdline(text).parameters}


def _seconds(text: str) -> float | None:
    words = text.split()
    return float(words[0]) if words and re.fullmatch(r"\d{1,12}(\.\d{1,6})?", words[0]) else None


def _release(host: Host, tools: Tools) -> Fact[str]:
    facts = [read_fact(host, _RELEASE, word)]
    if isinstance(facts[0], Known):
        return facts[0]
    for answer in (host.ask("read /proc/version"), *(answer for _, answer in outputs(host, "uname"))):
        version = parse_version(answer.text) if answer.ok else None
        facts.append(stated(version.release, answer, version.line) if version else answer.unknown())
    facts += [stated(topology.infos.get("OSRelease"), answer) for topology, answer in tools.of(lstopo.TOOL)]
    for _, answer in tools.of(amd_smi.TOOL):
        match = _SMI_KERNEL.search(answer.text)
        line = answer.text.count("\n", 0, match.start()) + 1 if match else None
        facts.append(stated(match.group(1) if match else None, answer, line))
    return first_known(*facts)


def _secure_boot(host: Host) -> Fact[bool]:
    answer = host.ask(f"read {_EFI_VARIABLE}")
    state = secure_boot_variable(answer.data) if answer.ok else None
    if state is not None:
        return Known(state, answer.source())
    for _, output in outputs(host, "mokutil"):
        said = parse_mokutil(output.text)
        if said.enabled is not None:
            return Known(said.enabled, output.source(said.line))
    return answer.unknown()


def _iommu_groups(host: Host) -> Fact[int]:
    """How many groups there are; 0 (no IOMMU in use) only from a complete answer."""
    answer = host.ask(_IOMMU_GROUPS)
    count = len(answer.lines()) if answer.ok else 0
    if answer.ok and (count or answer.complete):
        return Known(count, answer.source())
    return Unknown("no IOMMU groups in this evidence", "not-asked", answer.source())


def _iommu_default(cmdline: Known[str]) -> Fact[str]:
    """What the command line asks for; without a word of it the kernel's configuration decides, which is not here."""
    line: Cmdline = parse_cmdline(cmdline.value)
    passthrough = line.get("iommu.passthrough")
    words = line.options("iommu")
    if "off" in words or "off" in line.options("amd_iommu") or "off" in line.options("intel_iommu"):
        return Known("off", cmdline.source)
    if passthrough in ("1", "y", "Y", "on") or (passthrough is None and "pt" in words):
        return Known("passthrough", cmdline.source)
    if passthrough in ("0", "n", "N", "off") or "nopt" in words:
        return Known("translated", cmdline.source)
    return Unknown(
        "the kernel command line does not say; the kernel's configuration decides", "not-asked", cmdline.source
    )


def with_log(kernel: Kernel, log: Fact[KernelLog]) -> Kernel:
    """The kernel with its log, which also tells the release where nothing better does."""
    release = first_known(kernel.release, *said_in_log(log, "kernel-version", "release"))
    return replace(kernel, release=release, log=log)


def said_in_log(log: Fact[KernelLog], kind: str, value: str, mark: str = "") -> list[Fact[str]]:
    """Values of the events whose text has ``mark``, the last first: a log may reach back over several boots."""
    if not isinstance(log, Known):
        return []
    answer = Answer(log.value.source, "ok")
    events = [event for event in log.value.of(kind) if mark in event.text and event.values.get(value)]
    return [stated(str(event.values[value]), answer, event.line) for event in reversed(events)]
