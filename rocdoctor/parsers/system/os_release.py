"""The distribution, and whether this is a container or a virtual machine: os-release, lsb_release and their signs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of, value_of

_ASSIGNMENT = regex(r"([A-Z][A-Z0-9_]{0,60})=(.*)\Z")
_OS_KEYS = {
    "ID": "id",
    "ID_LIKE": "id_like",
    "VERSION_ID": "version_id",
    "PRETTY_NAME": "pretty_name",
    "PLATFORM_ID": "platform",
    "VERSION_CODENAME": "codename",
    "DEBIAN_CODENAME": "codename",
    "UBUNTU_CODENAME": "codename",
}
# The name of a release that a distribution is built on, before the name of its own.
_CODENAMES = ("UBUNTU_CODENAME", "DEBIAN_CODENAME", "VERSION_CODENAME")
_RELEASE_LINE = regex(r".{2,60}? release ([0-9][0-9.]{0,12})")
_CGROUP_KINDS = (
    ("kubernetes", regex(r"/kubepods|kubepods-|/kubelet")),
    ("docker", regex(r"/docker[/-]|docker-[0-9a-f]{12}|/docker\Z")),
    ("podman", regex(r"/libpod|libpod-")),
    ("containerd", regex(r"cri-containerd|/containerd")),
    ("lxc", regex(r"(?:^|[:/])lxc(?:[/.]|\Z)")),
)

# What makers write into the DMI tables of their virtual machines (systemd src/basic/virt.c has the same words).
_DMI_KINDS = (
    ("amazon", ("Amazon EC2",)),
    ("google", ("Google Compute Engine",)),
    ("kvm", ("KVM", "OpenStack", "RHEV")),
    ("qemu", ("QEMU", "Standard PC (", "Bochs")),
    ("vmware", ("VMware", "VMW")),
    ("oracle", ("innotek GmbH", "VirtualBox")),
    ("xen", ("Xen", "HVM domU")),
    ("microsoft", ("Virtual Machine",)),
    ("parallels", ("Parallels",)),
    ("bhyve", ("BHYVE",)),
    ("apple", ("Apple Virtualization",)),
    ("nutanix", ("AHV",)),
)
# Words of systemd-detect-virt, by what they are.
DETECT_VIRT_CONTAINERS = frozenset(
    {
        "openvz",
        "lxc",
        "lxc-libvirt",
        "systemd-nspawn",
        "docker",
        "podman",
        "rkt",
        "wsl",
        "proot",
        "pouch",
        "container-other",
    }
)
DETECT_VIRT_MACHINES = frozenset(
    {
        "qemu",
        "kvm",
        "amazon",
        "zvm",
        "vmware",
        "microsoft",
        "oracle",
        "powervm",
        "xen",
        "bochs",
        "uml",
        "parallels",
        "bhyve",
        "qnx",
        "acrn",
        "apple",
        "sre",
        "google",
        "vm-other",
    }
)


@dataclass(frozen=True, slots=True)
class OsRelease:
    """The distribution: ``id`` and ``id_like`` in lower case, ``lines`` by field name.

    ``codename`` is that of the release it is built on, where it names one, else its own; ``platform`` what rebuilds of
    Red Hat's share ("platform:el9").
    """

    id: str | None = None
    id_like: tuple[str, ...] = ()
    version_id: str | None = None
    pretty_name: str | None = None
    codename: str | None = None
    platform: str | None = None
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContainerSign:
    """A sign of a container: ``kind`` "docker", "podman", "kubernetes", "lxc", "wsl", "containerd", "singularity",
    "systemd-nspawn" or "container" (which one is not told), and what told it."""

    kind: str
    sign: str
    rootless: bool | None = None


def parse_os_release(text: str) -> OsRelease:
    """Reads os-release(5): shell-like assignments, of which the last of each name counts."""
    found: dict[str, tuple[int, str]] = {}
    for line, raw in enumerate(lines_of(text, 500), 1):
        match = _ASSIGNMENT.match(raw.strip()[:2000])
        if match and match.group(1) in _OS_KEYS:
            found[match.group(1)] = (line, match.group())
    values = {key: _assigned(assignment) for key, (_, assignment) in found.items()}
    return OsRelease(
        id=(value_of(values.get("ID")) or "").lower() or None,
        id_like=tuple((values.get("ID_LIKE") or "").lower().split()[:10]),
        version_id=value_of(values.get("VERSION_ID")),
        pretty_name=value_of(values.get("PRETTY_NAME")),
        codename=next((name for key in _CODENAMES if (name := value_of(values.get(key)))), None),
        platform=value_of(values.get("PLATFORM_ID")),
        lines={name: found[key][0] for key, name in _OS_KEYS.items() if key in found},
    )


_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]{0,40}\Z")
_PLAIN = regex(r"(?:\"([^\"\\\n]*)\"|'([^'\n]*)'|([A-Za-z0-9._:/+-]*))\Z")


def _assigned(assignment: str) -> str | None:
    """The value of one line "NAME=value" as the distro package reads it; None where its quotes do not end.

    A line at a time, so that an odd quote in a cut or hostile text spoils its own line alone. The static method takes
    the text itself; the documented ``os_release_file`` would need a file on the disk of whoever replays. A word and a
    quoted text without a backslash are what they are.
    """
    name, _, rest = assignment.partition("=")
    if _NAME.match(name) and (plain := _PLAIN.match(rest)):
        return plain[1] or plain[2] or plain[3] or ""
    from distro import LinuxDistribution  # 13 ms, and hardly a line needs it

    try:
        values = LinuxDistribution._parse_os_release_content(StringIO(assignment))
    except ValueError:
        return None
    return values.get(name.lower())


def parse_lsb_release(text: str) -> OsRelease:
    """Reads `lsb_release -a` or /etc/lsb-release; also "Red Hat Enterprise Linux release 8.9 (Ootpa)"."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    labels = {
        "Distributor ID": "id",
        "DISTRIB_ID": "id",
        "Description": "pretty_name",
        "DISTRIB_DESCRIPTION": "pretty_name",
        "Release": "version_id",
        "DISTRIB_RELEASE": "version_id",
    }
    for line, raw in enumerate(lines_of(text, 200), 1):
        stripped = raw.strip()[:1000]
        mark = ":" if ":" in stripped.split("=")[0] else "="
        label, found, value = stripped.partition(mark)
        name = labels.get(label.strip()) if found else None
        if name and name not in values:
            plain = value_of(_assigned(f"{label.strip()}={value}") if mark == "=" else value)
            if plain:
                values[name], lines[name] = plain, line
        elif not values and (release := _RELEASE_LINE.match(stripped)):
            values = {"pretty_name": stripped, "version_id": release.group(1)}
            lines = dict.fromkeys(values, line)
    return OsRelease(
        id=values.get("id", "").lower() or None,
        version_id=values.get("version_id"),
        pretty_name=values.get("pretty_name"),
        lines=lines,
    )


def container_from_containerenv(text: str) -> ContainerSign:
    """Podman's /run/.containerenv; it is empty unless the container is privileged, and CRI-O writes one too."""
    low = text[:8192].lower()
    rootless = True if "rootless=1" in low else False if "rootless=0" in low else None
    kind = "podman" if "podman" in low or not low.strip() else "container"
    return ContainerSign(kind, "/run/.containerenv", rootless)


def container_from_cgroup(text: str) -> ContainerSign | None:
    """/proc/1/cgroup: container managers leave their names in the paths; "/" alone tells nothing."""
    for raw in lines_of(text, 500):
        path = raw.strip()[:2000]
        for kind, pattern in _CGROUP_KINDS:
            if pattern.search(path):
                return ContainerSign(kind, "/proc/1/cgroup")
    return None


def container_from_environment(environment: Mapping[str, str]) -> ContainerSign | None:
    """Variables that container managers set: KUBERNETES_SERVICE_HOST, SINGULARITY_NAME, container=..., WSL_*."""
    if "KUBERNETES_SERVICE_HOST" in environment:
        return ContainerSign("kubernetes", "$KUBERNETES_SERVICE_HOST")
    for name in ("APPTAINER_CONTAINER", "APPTAINER_NAME", "SINGULARITY_CONTAINER", "SINGULARITY_NAME"):
        if environment.get(name):
            return ContainerSign("singularity", f"${name}")
    if environment.get("WSL_DISTRO_NAME"):
        return ContainerSign("wsl", "$WSL_DISTRO_NAME")
    word = environment.get("container", "").strip().lower()
    kinds = {"docker", "podman", "lxc", "systemd-nspawn", "wsl"}
    if word:
        return ContainerSign("podman" if word == "oci" else word if word in kinds else "container", "$container")
    return None


def container_from_release(text: str) -> ContainerSign | None:
    """WSL by the kernel's release or /proc/version ("5.15.167.4-microsoft-standard-WSL2")."""
    low = text[:4096].lower()
    if "microsoft" in low and ("wsl" in low or "microsoft-standard" in low or "-microsoft" in low):
        return ContainerSign("wsl", "kernel release")
    return None


def virtualization_from_dmi(*texts: str) -> str | None:
    """The hypervisor by DMI texts (sys_vendor, product_name, bios_vendor ...); None says nothing.

    Bare-metal instances of clouds carry the cloud's name too: "amazon" with a product that ends in ".metal" is None.
    """
    words = [text.strip()[:200] for text in texts]
    if any(word.endswith(".metal") for word in words):
        return None
    for kind, marks in _DMI_KINDS:
        if any(word.startswith(mark) for word in words for mark in marks):
            return kind
    return None


def parse_detect_virt(text: str) -> tuple[str | None, str | None]:
    """(hypervisor, container) from `systemd-detect-virt`: ("none", "none") for bare metal, None for unknown words.

    The tool prints the innermost kind alone: inside a container the hypervisor below it stays unknown (None).
    """
    words = text.split()
    word = words[0].lower() if len(words) == 1 else ""
    if word == "none":
        return "none", "none"
    if word in DETECT_VIRT_MACHINES:
        return word, "none"
    if word in DETECT_VIRT_CONTAINERS:
        return None, word
    return None, None
