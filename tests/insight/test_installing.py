"""What installs a thing: with the manager of this machine's distribution, and no command where nothing tells it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.insight.software.installing import (
    distribution_of,
    find_library,
    finders,
    in_order,
    initramfs_here,
    install_library,
    wanted,
)
from rocdoctor.insight.software.libraries import library
from rocdoctor.knowledge.install.distributions import distributions
from rocdoctor.knowledge.load import load_table
from rocdoctor.knowledge.software.package_managers import manager_of, package_managers, wanted_packages
from rocdoctor.model.facts import Container, Kernel, Machine, OperatingSystem
from rocdoctor.model.shell_command import ShellCommand
from tests.kit import k, machine
from tests.shell_box import HOSTILE


def _on(distribution: str, like: str = "", kernel: str = "", container: str = "none") -> Machine:
    return machine(
        os=OperatingSystem(k(distribution), k("1"), k(distribution), k(like)),
        kernel=Kernel(release=k(kernel)) if kernel else Kernel(),
        container=Container(kind=k(container)),
    )


@pytest.mark.parametrize(
    ("distribution", "command"),
    [
        ("ubuntu", "sudo apt install gcc python3-dev"),
        ("fedora", "sudo dnf install gcc python3-devel"),
        ("sles", "sudo zypper install gcc python3-devel"),
        ("arch", "sudo pacman -S gcc python"),
        ("void", ""),
    ],
)
def test_the_distribution_decides(distribution: str, command: str) -> None:
    found = wanted(_on(distribution), "c-compiler")
    assert found.command == command
    assert "gcc" in found.words


def test_where_nothing_tells_it_every_manager_is_named() -> None:
    found = wanted(machine(), "c-compiler")
    assert found.command == ""
    assert found.words == "gcc and python3-dev (apt), gcc and python3-devel (dnf, zypper), gcc and python (pacman)"


def test_a_derived_distribution_is_what_it_is_like() -> None:
    assert distribution_of(_on("tuxedo", like="ubuntu debian")) == "ubuntu"
    assert distribution_of(_on("ultramarine", like="fedora")) == "fedora"


def test_the_kernel_tells_it_where_no_file_does() -> None:
    for release, distribution in (
        ("6.8.0-45-generic", "ubuntu"),
        ("6.1.0-18-amd64", "debian"),
        ("5.14.0-427.el9.x86_64", "rhel"),
        ("6.11.4-301.fc41.x86_64", "fedora"),
        ("6.11.5-arch1-1", "arch"),
        ("6.8.0-custom", ""),
    ):
        assert distribution_of(machine(kernel=Kernel(release=k(release)))) == distribution


def test_a_container_has_its_own_packages_and_the_kernel_of_its_host() -> None:
    inside = _on("debian", kernel="5.14.0-427.el9.x86_64", container="docker")
    assert wanted(inside, "c-compiler").command == "sudo apt install gcc python3-dev"
    assert wanted(inside, "nvidia-container-toolkit", host=True).command == "sudo dnf install nvidia-container-toolkit"
    unknown = replace(inside, kernel=Kernel(release=k("6.8.0-custom")))
    assert wanted(unknown, "nvidia-container-toolkit", host=True).command == ""


def test_headers_are_those_of_the_kernel() -> None:
    here = _on("rhel")
    assert wanted(here, "kernel-headers", kernel="5.14.0-427.el9.x86_64").command == (
        "sudo dnf install kernel-devel-5.14.0-427.el9.x86_64"
    )
    running = wanted(_on("ubuntu"), "kernel-headers", kernel=ShellCommand("$(uname -r)"))
    assert running.command == "sudo apt install linux-headers-$(uname -r)"


def test_firmware_has_other_names_elsewhere() -> None:
    names = {one: wanted(_on(one), "amd-firmware").words for one in ("debian", "ubuntu", "fedora", "rhel", "sles")}
    assert names == {
        "debian": "firmware-amd-graphics",
        "ubuntu": "linux-firmware",
        "fedora": "amd-gpu-firmware",
        "rhel": "linux-firmware",
        "sles": "kernel-firmware-amdgpu",
    }


def test_libraries_are_installed_by_package_or_by_their_own_name() -> None:
    numa = library("libnuma.so.1")
    assert install_library(_on("debian"), numa) == "sudo apt install libnuma1"
    assert install_library(_on("rhel"), numa) == "sudo dnf install 'libnuma.so.1()(64bit)'"
    assert install_library(_on("arch"), numa) == ""
    assert install_library(_on("debian"), library("libtinfo.so.5")) == "sudo apt install libtinfo5"
    assert install_library(_on("debian"), library("libssl.so.1.1")) == "sudo apt install libssl1.1"
    assert install_library(_on("debian"), library("libLLVM-14.so.1")) == "sudo apt install libllvm14"
    assert install_library(_on("debian"), library("libsomething.so.2")) == ""


def test_what_holds_a_library() -> None:
    assert find_library(_on("ubuntu"), "libx.so.2") == "apt-file search libx.so.2"
    assert find_library(_on("fedora"), "libx.so.2") == "dnf provides '*/libx.so.2'"
    assert find_library(machine(), "libx.so.2") == ""
    assert finders().startswith("apt-file search, dnf provides, ")


def test_initial_disks() -> None:
    assert initramfs_here(_on("ubuntu")) == "sudo update-initramfs -u -k all"
    assert initramfs_here(_on("fedora")) == "sudo dracut --regenerate-all --force"
    assert initramfs_here(machine()) == ""


def test_commands_in_their_order() -> None:
    assert in_order(ShellCommand(), ShellCommand("a"), ShellCommand("b")) == "a; b"
    assert in_order(ShellCommand()) == ""


@pytest.mark.parametrize("word", HOSTILE)
def test_no_word_of_the_evidence_gets_out_of_its_quotes(word: str) -> None:
    import shlex

    for distribution in ("ubuntu", "rhel"):
        for command in (
            wanted(_on(distribution), "kernel-headers", kernel=word).command,
            install_library(_on(distribution), library(word)),
            find_library(_on(distribution), word),
        ):
            split = shlex.split(command)
            assert not [one for one in split if one in ("touch", ";", "&&", "|")], command
            assert len(split) <= 4, command


def test_the_table_says_what_the_install_tables_say() -> None:
    for one in distributions():
        manager = manager_of(one.id)
        assert manager is not None and manager.name == one.manager, one.key
    assert set(load_table("install_packages")["common"]) == set(package_managers())
    for thing in load_table("package_managers")["wanted"]:
        assert all(wanted_packages(thing).values()), thing
