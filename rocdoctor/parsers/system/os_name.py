"""Names of distributions as people write them: "Ubuntu 22.04.3 LTS (Jammy Jellyfish)", "Debian 13", "RHEL 9.4"."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex

OS_NAME = regex(
    r"\b(?P<name>Ubuntu|Kubuntu|Xubuntu|Debian(?: GNU/Linux)?|Fedora(?: Linux)?|CentOS(?: Linux| Stream)?|"
    r"Rocky(?: Linux)?|Alma ?Linux|RHEL|Red Hat Enterprise Linux(?: Workstation| Server)?|"
    r"openSUSE(?: Leap| Tumbleweed)?|SLES|SUSE Linux Enterprise Server|Arch Linux|ArchLinux|Manjaro(?: "
    r"Linux)?|Linux Mint|Pop!_OS|NixOS|Gentoo|KDE neon|EndeavourOS|CachyOS|Garuda Linux|"
    r"Amazon Linux|Oracle Linux|Nobara|Bazzite|Alpine Linux)\b(?P<rest>(?: User Edition)?(?: (?:release|"
    r"testing|sid|unstable|stable))?[ -]{0,2}\(?(?:Ubuntu )?(?:v|version )"
    r"?(?P<version>\d{1,4}(?:\.\d{1,3}){0,3})?(?: LTS)?(?: ?\([A-Za-z ]{2,40}\))?\)?)"
)
_IDS = {
    "ubuntu": "ubuntu",
    "kubuntu": "ubuntu",
    "xubuntu": "ubuntu",
    "debian": "debian",
    "debian gnu/linux": "debian",
    "fedora": "fedora",
    "fedora linux": "fedora",
    "centos": "centos",
    "centos linux": "centos",
    "centos stream": "centos",
    "rocky": "rocky",
    "rocky linux": "rocky",
    "almalinux": "almalinux",
    "alma linux": "almalinux",
    "rhel": "rhel",
    "red hat enterprise linux": "rhel",
    "red hat enterprise linux workstation": "rhel",
    "red hat enterprise linux server": "rhel",
    "opensuse": "opensuse",
    "opensuse leap": "opensuse-leap",
    "opensuse tumbleweed": "opensuse-tumbleweed",
    "sles": "sles",
    "suse linux enterprise server": "sles",
    "arch linux": "arch",
    "archlinux": "arch",
    "manjaro": "manjaro",
    "manjaro linux": "manjaro",
    "linux mint": "linuxmint",
    "pop!_os": "pop",
    "nixos": "nixos",
    "gentoo": "gentoo",
    "kde neon": "neon",
    "endeavouros": "endeavouros",
    "cachyos": "cachyos",
    "garuda linux": "garuda",
    "amazon linux": "amzn",
    "oracle linux": "ol",
    "nobara": "nobara",
    "bazzite": "bazzite",
    "alpine linux": "alpine",
}


@dataclass(frozen=True, slots=True)
class OsName:
    """A distribution: ``id`` as os-release(5) has it, ``pretty_name`` as written."""

    id: str
    version_id: str | None
    pretty_name: str


def parse_os_name(text: str) -> OsName | None:
    """The first distribution in a text; None where there is none."""
    match = OS_NAME.search(text[:2000])
    if match is None:
        return None
    return OsName(
        _IDS[match["name"].lower()], match["version"], text.strip()[:120] if len(text) < 120 else match[0].strip()
    )
