"""The distribution, and whether it is a laptop or a virtual machine."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.collect.reading import read_fact, word
from rocdoctor.collect.recorded_outputs import outputs, stated
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Unknown, first_known, value_or
from rocdoctor.model.facts import OperatingSystem
from rocdoctor.parsers.formats.text import to_int
from rocdoctor.parsers.system.cpu import parse_cpuinfo, parse_lscpu
from rocdoctor.parsers.system.os_release import (
    OsRelease,
    parse_detect_virt,
    parse_lsb_release,
    parse_os_release,
    virtualization_from_dmi,
)

_DMI = "/sys/class/dmi/id"
_DMI_WORDS = ("sys_vendor", "product_name", "board_vendor", "bios_vendor")
# Chassis types of the SMBIOS specification (7.4.1) that are carried about: portable, laptop, notebook, sub notebook,
# tablet, convertible, detachable; and those of machines that stand: desktops, towers, all in one, servers, blades.
_PORTABLE = frozenset({8, 9, 10, 14, 30, 31, 32})
_STANDING = frozenset({3, 4, 5, 6, 7, 13, 15, 16, 17, 23, 24, 25, 28, 29, 35, 36})
_OS_FILES = ("read /etc/os-release", "read /usr/lib/os-release")
_LSB_FILES = ("read /etc/lsb-release", "read /etc/redhat-release")
# What a registered system has, by its distribution (names in public code that looks for them, read 2026-11-24).
# Machines of Azure that are paid for by the hour have rh-cloud.repo (MicrosoftDocs/azure-compute-docs
# redhat-rhui.md@04112204, read 2026-11-24): to register such a machine is to pay twice.
_REGISTRATIONS = {
    "rhel": (
        ("list /etc/pki/consumer/cert.pem", "vendor"),
        ("list /etc/yum.repos.d/*rhui*.repo", "cloud"),
        ("list /etc/yum.repos.d/rh-cloud*.repo", "other-cloud"),
    ),
    "sles": (("list /etc/zypp/credentials.d/SCCcredentials", "vendor"),),
}


def prefetch(host: Host) -> None:
    """Start on what is always asked."""
    host.prefetch([*_OS_FILES, *(f"read {_DMI}/{name}" for name in (*_DMI_WORDS, "chassis_type"))])
    host.prefetch(["list /sys/class/power_supply/*", "read /sys/hypervisor/type"])


def collect_os(host: Host) -> OperatingSystem:
    """The distribution that programs see here (inside a container: the container's)."""
    answers = [host.ask(question) for question in _OS_FILES]
    found = [(parse_os_release(answer.text), answer) for answer in answers if answer.ok]
    if not found:
        answers += [host.ask(question) for question in _LSB_FILES]
        found = [(parse_lsb_release(answer.text), answer) for answer in answers if answer.ok]
        found += [(parse_lsb_release(answer.text), answer) for _, answer in outputs(host, "lsb_release")]
    if not found:
        gap = answers[0].unknown()
        return OperatingSystem(gap, gap, gap, gap, gap, gap)

    def of(name: str) -> Fact[str]:
        return first_known(
            *(stated(_text(release, name), answer, release.lines.get(name)) for release, answer in found)
        )

    names = ("id", "version_id", "pretty_name", "id_like", "codename", "platform")
    os = OperatingSystem(**{name: of(name) for name in names})
    return replace(os, registration=collect_registration(host, value_or(os.id, "")))


def collect_registration(host: Host, own_id: str) -> Fact[str]:
    """Whether the vendor gives packages to this system: by the certificate or the account that a registration leaves.

    Red Hat's update servers in clouds (RHUI) need no registration of the system; they leave repository files.
    """
    questions = _REGISTRATIONS.get(own_id)
    if questions is None:
        return NOT_ASKED
    answers = [(host.ask(question), kind) for question, kind in questions]
    for answer, kind in answers:
        if answer.ok and answer.lines():
            return Known(kind, answer.source(1))
    gap = next((answer for answer, _ in answers if not answer.ok), None)
    return gap.unknown() if gap is not None else Known("none", answers[0][0].source())


def _text(release: OsRelease, name: str) -> str | None:
    value = getattr(release, name)
    return (" ".join(value) or None) if isinstance(value, tuple) else value


def collect_laptop(host: Host) -> Fact[bool]:
    """Whether the machine is carried about: by the chassis that the firmware states, else by a battery of its own."""
    chassis = read_fact(host, f"{_DMI}/chassis_type", to_int)
    if isinstance(chassis, Known) and chassis.value in _PORTABLE:
        return Known(True, chassis.source)
    listed = host.ask("list /sys/class/power_supply/*")
    if listed.ok:
        # Names of system batteries; those of mice and headsets are hid-..., hidpp_..., wacom_..., ps-controller-...
        for number, path in enumerate(listed.lines(), 1):
            if path.rsplit("/", 1)[-1].upper().startswith(("BAT", "CMB", "MACSMC-BATTERY")):
                return Known(True, listed.source(number))
    if isinstance(chassis, Known) and chassis.value in _STANDING:
        return Known(False, chassis.source)
    if isinstance(chassis, Unknown):
        return chassis
    return Unknown("the firmware does not say what kind of machine it is", "unparsable", chassis.source)


def collect_virtual_machine(host: Host) -> Fact[str | None]:
    """The hypervisor below, or Known(None) for bare metal, which takes a complete answer of a CPU that would tell."""
    xen = host.ask("read /sys/hypervisor/type")
    texts = {name: host.ask(f"read {_DMI}/{name}") for name in _DMI_WORDS}
    cpuinfo = host.ask("read /proc/cpuinfo")
    info = parse_cpuinfo(cpuinfo.text) if cpuinfo.ok else None
    for name, answer in texts.items():
        kind = virtualization_from_dmi(answer.text) if answer.ok else None
        metal = any(one.ok and one.text.strip().endswith(".metal") for one in texts.values())
        # Clouds and makers of hypervisors also sell machines of metal: there the CPU shows no hypervisor.
        if kind and not metal and (name == "product_name" or info is None or info.hypervisor is not False):
            return Known(kind, answer.source(1))
    if info is not None and info.hypervisor:
        kind = (word(xen.text) if xen.ok else None) or "unknown hypervisor"
        return Known(kind, cpuinfo.source(info.lines.get("hypervisor")))
    if xen.ok and xen.text.strip() and (info is None or info.hypervisor is None):
        return Known(xen.text.strip()[:40], xen.source(1))
    for _, output in outputs(host, "lscpu"):
        listed = parse_lscpu(output.text)
        if listed.hypervisor:
            return Known(listed.hypervisor.lower(), output.source(listed.lines.get("hypervisor")))
    for _, output in outputs(host, "systemd-detect-virt"):
        kind, _ = parse_detect_virt(output.text)
        if kind is not None:
            return Known(None if kind == "none" else kind, output.source(1))
    return _bare_metal(cpuinfo, info.hypervisor if info else None, info.lines.get("flags") if info else None)


def _bare_metal(cpuinfo: Answer, hypervisor: bool | None, line: int | None) -> Fact[str | None]:
    if hypervisor is False:  # the flags of one processor are a whole answer, also in an excerpt
        return Known(None, cpuinfo.source(line))
    if not cpuinfo.ok:
        return cpuinfo.unknown()
    return Unknown("nothing here shows whether this is a virtual machine", "not-asked", cpuinfo.source())
