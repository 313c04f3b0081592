"""The installed packages of ROCm and the GPU driver, from the system's package manager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocdoctor.host.base import Host, run
from rocdoctor.model.evidence import Fact, Known, Unknown
from rocdoctor.model.facts import PackageSource, RocmInstall
from rocdoctor.parsers.amd.rocm_packages import classify, of_driver_bundle, rocm_packages
from rocdoctor.parsers.system.apt_sources import parse_apt_sources
from rocdoctor.parsers.system.packages import parse_dpkg, parse_pacman, parse_rpm

# Names of ROCm's and the driver's packages on Debian and Ubuntu; RPM and pacman are asked for all packages.
_DPKG_NAMES = (
    "rocm*",
    "amdrocm*",
    "hip*",
    "hsa*",
    "libhsa*",
    "libamdhip*",
    "libamd-comgr*",
    "comgr*",
    "rccl*",
    "librccl*",
    "roc*",
    "libroc*",
    "libhip*",
    "miopen*",
    "migraphx*",
    "amdgpu*",
    "amd-smi*",
    "half",
    "rpp*",
)
_DPKG = run("dpkg-query", "-W", *_DPKG_NAMES)
_RPM = run("rpm", "-qa", "--qf", "%{NAME}\\t%{VERSION}-%{RELEASE}\\n")
_PACMAN = run("pacman", "-Q")
# What sos reports and people hold.
_OTHERS = ("run dpkg -l", "run rpm -qa", "run installed-rpms")


def question(os_id: str | None, id_like: str | None) -> str | None:
    """The question that fits the distribution; None where none is known."""
    family = f"{os_id or ''} {id_like or ''}"
    if any(word in family for word in ("debian", "ubuntu")):
        return _DPKG
    if any(word in family for word in ("rhel", "fedora", "suse", "sles", "centos", "rocky", "almalinux", "azurelinux")):
        return _RPM
    return _PACMAN if "arch" in family else None


# The lists that AMD's pages and its installer write; nobody else's are read.
_LISTS = ("rocm.list", "amdgpu.list", "amdgpu-proprietary.list", "radeon.list")


def collect_sources(host: Host, os_id: str | None, id_like: str | None) -> tuple[PackageSource, ...]:
    """The sources of AMD's packages that apt is given; () where none is there, or nobody can look."""
    if question(os_id, id_like) != _DPKG:
        return ()
    found: list[PackageSource] = []
    for name in _LISTS:
        path = f"/etc/apt/sources.list.d/{name}"
        answer = host.ask(f"read {path}")
        for one in parse_apt_sources(answer.text) if answer.ok else ():
            where = answer.source(one.line)
            found.append(PackageSource(path, Known(one.uri, where), Known(one.suite, where)))
    return tuple(found)


def collect_packages(
    host: Host, rocm: Sequence[RocmInstall], os_id: str | None, id_like: str | None
) -> Fact[Mapping[str, str]]:
    """ROCm's packages with their versions, and those of AMDGPU-PRO beside them.

    A live machine is asked only where ROCm is installed.
    """
    wanted = question(os_id, id_like)
    none = Unknown("no list of ROCm packages was taken", "not-asked")  # the same words live and replayed
    if host.kind == "live" and (not rocm or wanted is None):
        return none
    questions = [wanted] if host.kind == "live" and wanted else [_DPKG, _RPM, _PACMAN, *_OTHERS]
    for one in questions:
        answer = host.ask(one)
        if not answer.ok:
            continue
        pairs = _pairs(one, answer.text)
        found = {name: version for name, version in pairs if classify(name, version) is not None}
        if found:
            beside = {name: version for name, version in pairs if of_driver_bundle(name)}
            return Known(found | beside, answer.source())
    return none


def _pairs(asked: str, text: str) -> list[tuple[str, str]]:
    """(name, version) of every installed package in a list."""
    if "\t" in text:  # the form that we ask for
        rows = [line.split("\t") for line in text.splitlines()]
        return [(row[0].split(":")[0], row[1]) for row in rows if len(row) == 2 and row[1]]
    parse = parse_dpkg if "dpkg" in asked else parse_pacman if "pacman" in asked else parse_rpm
    return [(one.name, one.version) for one in parse(text) if one.version]


def with_packages(rocm: Sequence[RocmInstall], packages: Fact[Mapping[str, str]]) -> tuple[RocmInstall, ...]:
    """Installations of the distribution have no version file: their release is that of their packages."""
    if not isinstance(packages, Known):
        return tuple(rocm)
    summary = rocm_packages(packages.value.items())
    core = [one.version for one in summary.packages if one.name.startswith(("libamdhip64", "hip-runtime", "rocm-hip"))]
    found: list[RocmInstall] = []
    for install in rocm:
        version = install.version
        if install.kind == "distribution" and not isinstance(version, Known) and core:
            version = Known(core[0].split("-")[0].split(":")[-1], packages.source)
        names = f"{len(summary.packages)} ROCm packages"
        shown: Fact[str] = Known(names, packages.source)
        found.append(RocmInstall(version, install.root, install.kind, shown, install.aliases))
    return tuple(found)
