"""Distributions that are built on others: which row they are judged by, and what is said of it."""

from __future__ import annotations

import pytest

from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known, Source, Unknown
from rocdoctor.model.facts import OperatingSystem
from rocdoctor.parsers.system.os_release import parse_os_release
from tests.install_kit import found


def _of(**words: str) -> OperatingSystem:
    """What os-release says, by the names of the facts."""
    return OperatingSystem(
        **{name: Known(text, Source("read /etc/os-release")) for name, text in words.items() if text}
    )


# (id, its own release, ID_LIKE, codename, PLATFORM_ID): the row that is to judge it; None where no guess is allowed.
# The first three forms are those of public os-release files of Linux Mint 20.1, CentOS Stream 9 and openSUSE Leap 15.6.
ROWS = {
    ("linuxmint", "22.1", "ubuntu debian", "noble", ""): "ubuntu 24.04",
    ("centos", "9", "rhel fedora", "", "platform:el9"): "rhel 9",
    ("opensuse-leap", "15.6", "suse opensuse", "", ""): "sles 15",
    ("linuxmint", "21.3", "", "", ""): "ubuntu 22.04",
    ("linuxmint", "6", "debian", "bookworm", ""): "debian 12",
    ("zorin", "17", "ubuntu debian", "jammy", ""): "ubuntu 22.04",
    ("pop", "24.04", "ubuntu debian", "noble", ""): "ubuntu 24.04",
    ("pop", "22.04", "", "", ""): "ubuntu 22.04",
    ("eurolinux", "9.4", "rhel centos fedora", "", "platform:el9"): "rhel 9",
    ("rocky", "8.10", "rhel centos fedora", "", "platform:el8"): "rhel 8",
    ("rocky", "9.5", "rhel centos fedora", "", "platform:el9"): "rocky 9",
    ("centos", "10", "", "", ""): "rhel 10",
    ("opensuse-tumbleweed", "20261101", "opensuse suse", "", ""): "opensuse-tumbleweed",
    ("manjaro", "", "arch", "", ""): "arch",
    ("kali", "2026.3", "debian", "kali-rolling", ""): "debian",
    ("ubuntu", "25.10", "debian", "questing", ""): "ubuntu",
    ("steamos", "3.7", "arch", "", ""): None,
    ("nobara", "42", "rhel centos fedora", "", "platform:f42"): None,
    ("amzn", "2023", "fedora", "", "platform:al2023"): None,
    ("centos", "7", "rhel fedora", "", ""): None,
    ("nixos", "26.05", "", "", ""): None,
    ("someos", "1", "", "noble", ""): None,  # a code name alone is no word of Ubuntu's
}


def test_each_is_judged_by_what_it_is_built_on() -> None:
    names = ("id", "version_id", "id_like", "codename", "platform")
    got = {row: install.distribution(_of(**dict(zip(names, row, strict=True)))) for row in ROWS}
    assert {row: one and one.key for row, one in got.items()} == ROWS


def test_what_is_derived_is_never_called_official() -> None:
    for row in ROWS:
        one = install.distribution(_of(id=row[0], version_id=row[1], id_like=row[2], codename=row[3], platform=row[4]))
        if one is None or one.derived_from is None or one.own_rocm:
            continue
        for answer in (
            install.rocm_route(one, "gfx942"),
            install.driver_route(one, "gfx942", kernel="6.8.0-45-generic"),
        ):
            if not isinstance(answer, Unknown) and answer.support == "official":
                raise AssertionError(f"{one.name}: {answer}")


def test_centos_stream_takes_the_newest_folder_and_no_subscription() -> None:
    one = install.distribution(_of(id="centos", version_id="9", id_like="rhel fedora", platform="platform:el9"))
    assert one is not None and one.repos == "clone"
    assert one.values["elver"] == found("rhel 9", "9.6").listed[-1]
    route = install.rocm_route(one, "gfx942")
    assert isinstance(route, install.Route) and not route.missing
    commands = [word for step in route.steps for run in step.run for word in run]
    assert "subscription-manager" not in commands and "crb" in commands


def test_a_release_that_nobody_names_has_its_manager_and_nothing_of_a_vendor() -> None:
    one = install.distribution(_of(id="ubuntu", version_id="25.10", id_like="debian", codename="questing"))
    assert one is not None and one.release_unnamed and one.manager == "apt"
    assert isinstance(install.rocm_route(one, "gfx1100"), Unknown)
    driver = install.driver_route(one, "gfx1100", kernel="6.17.0-5-generic")
    assert isinstance(driver, install.DriverRoute) and driver.kind == "in-tree"


@pytest.mark.parametrize(
    ("text", "codename", "platform"),
    [
        ("ID=linuxmint\nVERSION_CODENAME=ulyssa\nUBUNTU_CODENAME=focal\n", "focal", None),
        ("ID=linuxmint\nDEBIAN_CODENAME=bookworm\nVERSION_CODENAME=faye\n", "bookworm", None),
        ("ID=debian\nVERSION_CODENAME=trixie\n", "trixie", None),
        ('ID="centos"\nPLATFORM_ID="platform:el9"\n', None, "platform:el9"),
        ("ID=arch\n", None, None),
    ],
)
def test_os_release_names_what_it_is_built_on(text: str, codename: str | None, platform: str | None) -> None:
    read = parse_os_release(text)
    assert (read.codename, read.platform) == (codename, platform)
