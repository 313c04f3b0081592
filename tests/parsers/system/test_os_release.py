"""Distribution, container and virtual machine signs: samples transcribed from public images, shortened."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import distro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.system import os_release
from tests.kit import ROOT

ROCKY = """\
# comment
NAME="Rocky Linux"
VERSION="9.4 (Blue Onyx)"
ID="rocky"
ID_LIKE="rhel centos fedora"
VERSION_ID='9.4'
PRETTY_NAME="Rocky Linux 9.4 (Blue \\"Onyx\\")"
"""


def test_os_release() -> None:
    info = os_release.parse_os_release(ROCKY)
    assert (info.id, info.id_like, info.version_id) == ("rocky", ("rhel", "centos", "fedora"), "9.4")
    assert info.pretty_name == 'Rocky Linux 9.4 (Blue "Onyx")'
    assert info.lines["version_id"] == 6
    assert os_release.parse_os_release("ID=arch\nBUILD_ID=rolling\n").version_id is None


def _release_files() -> list[str]:
    """Every os-release that a fixture holds, as written there."""
    found: dict[str, None] = {}
    for path in sorted((ROOT / "fixtures").rglob("*.capture")):
        _, mark, rest = path.read_text(errors="replace").partition("-- read /etc/os-release --\n")
        if mark:
            found[rest.split("\n-- ", 1)[0]] = None
    return list(found)


def test_the_facts_are_those_that_distro_reads_out_of_the_file(tmp_path: Path) -> None:
    """The function of distro that takes a text is not documented: its documented way, over a file, says the same."""
    texts = [ROCKY, *_release_files()]
    assert len(texts) > 5
    for text in texts:
        (tmp_path / "os-release").write_text(text)
        says = distro.LinuxDistribution(
            include_lsb=False, include_uname=False, include_oslevel=False, os_release_file=str(tmp_path / "os-release")
        ).os_release_info()
        info = os_release.parse_os_release(text)
        ours = (info.id, info.version_id, info.pretty_name, " ".join(info.id_like))
        assert ours == tuple(says.get(name, default) for name, default in _DISTRO_FIELDS), text


_DISTRO_FIELDS = (("id", None), ("version_id", None), ("pretty_name", None), ("id_like", ""))


def test_nothing_in_hostile_text_is_run_or_spoils_other_lines() -> None:
    hostile = (
        'NAME="never ends\nID=debian\nVERSION_ID="12" trailing words\nPRETTY_NAME="$(touch /pwned) `id` ${HOME}"\n'
        "ID_LIKE='it's\nVARIANT_ID=a\\\n" + "BUILD_ID=" + "x" * 5_000_000
    )
    info = os_release.parse_os_release(hostile)
    assert (info.id, info.version_id, info.id_like) == ("debian", "12", ("its",))
    assert info.pretty_name == "$(touch /pwned) `id` ${HOME}"
    assert os_release.parse_os_release("ID=\0\x07arch\x1b[31m\n").id == "arch"


def test_a_flood_of_lines_is_read_once_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = distro.LinuxDistribution._parse_os_release_content, []

    def counted(lines: object) -> dict[str, str]:
        asked.append(1)
        return real(lines)  # type: ignore[arg-type]

    monkeypatch.setattr(distro.LinuxDistribution, "_parse_os_release_content", staticmethod(counted))
    info = os_release.parse_os_release('ID=a""\nVERSION_ID=1""\n' * 100_000)
    assert (info.id, info.lines["id"], len(asked)) == ("a", 499, 2)
    asked.clear()
    assert os_release.parse_lsb_release('DISTRIB_ID=b""\n' * 100_000).id == "b"
    assert len(asked) == 1


def test_lsb_release() -> None:
    info = os_release.parse_lsb_release(
        "No LSB modules are available.\nDistributor ID:\tUbuntu\nDescription:\tUbuntu 22.04.5 LTS\nRelease:\t22.04\n"
        "Codename:\tjammy\n"
    )
    assert (info.id, info.version_id, info.pretty_name) == ("ubuntu", "22.04", "Ubuntu 22.04.5 LTS")
    assert info.lines["version_id"] == 4
    file = os_release.parse_lsb_release('DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=20.04\nDISTRIB_DESCRIPTION="Ubuntu: 20"\n')
    assert (file.id, file.version_id, file.pretty_name) == ("ubuntu", "20.04", "Ubuntu: 20")
    redhat = os_release.parse_lsb_release("Red Hat Enterprise Linux release 8.9 (Ootpa)\n")
    assert (redhat.version_id, redhat.id) == ("8.9", None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("12:memory:/docker/3ab5f2\n", "docker"),
        ("0::/system.slice/docker-3ab5f2d41c20aa.scope\n", "docker"),
        ("11:cpu:/kubepods/burstable/pod1/2\n", "kubernetes"),
        ("0::/machine.slice/libpod-22.scope\n", "podman"),
        ("1:name=systemd:/lxc/web\n", "lxc"),
        ("0::/\n", None),
        ("0::/user.slice/user-1000.slice\n", None),
    ],
)
def test_container_from_cgroup(text: str, kind: str | None) -> None:
    sign = os_release.container_from_cgroup(text)
    assert (sign.kind if sign else None) == kind


def test_other_container_signs() -> None:
    podman = os_release.container_from_containerenv('engine="podman-4.3.1"\nname="x"\nrootless=1\n')
    assert (podman.kind, podman.rootless) == ("podman", True)
    assert os_release.container_from_containerenv("").rootless is None
    kube = os_release.container_from_environment({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "container": "oci"})
    assert kube is not None and kube.kind == "kubernetes"
    apptainer = os_release.container_from_environment({"APPTAINER_NAME": "rocm.sif"})
    assert apptainer is not None and apptainer.kind == "singularity"
    assert os_release.container_from_environment({"PATH": "/bin"}) is None
    wsl = os_release.container_from_release("5.15.167.4-microsoft-standard-WSL2\n")
    assert wsl is not None and wsl.kind == "wsl"
    assert os_release.container_from_release("6.8.0-45-generic") is None


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (("QEMU", "Standard PC (Q35 + ICH9, 2009)"), "qemu"),
        (("Amazon EC2", "p4d.24xlarge"), "amazon"),
        (("Amazon EC2", "g4dn.metal"), None),
        (("Microsoft Corporation", "Virtual Machine"), "microsoft"),
        (("Microsoft Corporation", "Surface Laptop 4"), None),
        (("Google", "Google Compute Engine"), "google"),
        (("Google", "Eve"), None),
        (("Dell Inc.", "PowerEdge XE9680"), None),
    ],
)
def test_virtualization_from_dmi(texts: tuple[str, ...], kind: str | None) -> None:
    assert os_release.virtualization_from_dmi(*texts) == kind


def test_detect_virt() -> None:
    assert os_release.parse_detect_virt("kvm\n") == ("kvm", "none")
    assert os_release.parse_detect_virt("docker\n") == (None, "docker")
    assert os_release.parse_detect_virt("none\n") == ("none", "none")
    assert os_release.parse_detect_virt("command not found") == (None, None)


@given(st.text())
def test_any_name_of_a_container_is_taken(text: str) -> None:
    os_release.container_from_environment({"container": text})


def test_words_are_compared_in_lower_case() -> None:
    info = os_release.parse_os_release("ID=SLES\nID_LIKE=SUSE\n")
    assert (info.id, info.id_like) == ("sles", ("suse",))
    sign = os_release.container_from_release("4.4.0-19041-Microsoft\n")
    assert sign is not None and sign.kind == "wsl"
    assert os_release.container_from_release("hello microsoft") is None


def test_plain_values_are_those_that_distro_reads() -> None:
    """Most lines are read without the package, which takes longer to import than a machine's os-release to read."""
    for line in (
        'A="Ubuntu 24.04 (Noble)"',
        "A='x y'",
        "A=1.2-3",
        "A=",
        'A=""',
        "A=''",
        'A="a#b=c"',
        "A=a#b",
        'A="$X `y`"',
        'A="a\\"b"',
        "A=a b",
        'A="x"y',
        "A='x\\y'",
        'a_1="ä"',
        " A=x",
        "A =x",
        "1A=x",
    ):
        expected = distro.LinuxDistribution._parse_os_release_content(StringIO(line))
        assert os_release._assigned(line) == expected.get(line.partition("=")[0].lower()), line
