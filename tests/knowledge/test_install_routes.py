"""Kernel drivers and ROCm packages: what is official, what is not, and what is not known."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from rocdoctor.knowledge import install
from rocdoctor.knowledge.load import load_table
from rocdoctor.model.evidence import Known, Source, Unknown
from tests.install_kit import KERNELS, WHOLE, found, system, whole


def test_a_derived_distribution_and_a_rebuild_are_not_called_official() -> None:
    for one in (install.distribution(system("pop", "22.04")), install.distribution(system("almalinux", "9.6"))):
        route = install.rocm_route(one, "gfx1100")
        assert isinstance(route, install.Route) and route.support == "works-unsupported"
        assert route.risk is not None and "does not name" in route.risk


def test_a_minor_release_that_no_page_names_is_a_risk() -> None:
    route = install.rocm_route(found("rhel 9", "9.5"), "gfx942")
    assert isinstance(route, install.Route) and route.support == "works-unsupported"
    assert route.risk is not None and "9.5" in route.risk and "9.6" in route.risk


def test_ubuntu_gets_the_packages_of_its_card_from_the_right_place() -> None:
    route = install.rocm_route(found("ubuntu 24.04"), "gfx1100")
    assert isinstance(route, install.Route)
    lines = [line for step in route.steps for line in step.lines]
    assert any("stable.repo.amd.com/rocm/core/packages/ubuntu2404/" in line for line in lines)
    assert route.packages == ("amdrocm10.1-gfx1100",)
    assert any(shlex.join(run) == "apt install amdrocm10.1-gfx1100" for step in route.steps for run in step.run)
    assert any("amdrocm10.1-gfx1100" in run for step in route.undo for run in step.run)


@pytest.mark.parametrize(("release", "suite"), [("12", "jammy"), ("13", "noble")])
def test_debian_takes_the_ubuntu_suite_of_the_vendor(release: str, suite: str) -> None:
    driver = install.driver_route(found(f"debian {release}"), "gfx942", kernel="6.1.0-40-amd64")
    assert isinstance(driver, install.DriverRoute) and driver.kind == "dkms"
    (line,) = (line for step in driver.steps for line in step.lines)
    assert line.endswith(f"/amdgpu/31.50/ubuntu {suite} main")


@pytest.mark.parametrize(("version", "folder"), [("9.6", "el/9.6"), ("10.0", "el/10")])
def test_rhel_driver_folders_are_minor_for_9_and_major_for_10(version: str, folder: str) -> None:
    driver = install.driver_route(found(f"rhel {version.split('.')[0]}", version), "gfx942", kernel="5.14.0-570.el9")
    assert isinstance(driver, install.DriverRoute)
    assert any(f"/{folder}/main/" in line for step in driver.steps for line in step.lines)


def test_epel_is_enabled_in_two_ways() -> None:
    ids = {}
    for key, minor in (("rhel 9", "9.6"), ("rocky 9", "9.6")):
        route = install.rocm_route(found(key, minor), "gfx942")
        assert isinstance(route, install.Route)
        ids[key] = [step.id for step in route.steps]
    assert "crb-rhel" in ids["rhel 9"] and "crb-clone" not in ids["rhel 9"]
    assert "crb-clone" in ids["rocky 9"] and "crb-rhel" not in ids["rocky 9"]


def test_the_newest_release_comes_first_and_the_older_ones_are_alternatives() -> None:
    routes = {one.stream: one for one in install.rocm_routes(found("ubuntu 24.04"), "gfx1100")}
    assert list(routes) == ["newgen_10", "newgen_714", "classic"]
    assert all(not one.missing for one in routes.values())
    for stream in ("newgen_10", "newgen_714"):
        assert "classic" in routes[stream].remove_first  # AMD: uninstall 7.2.4 or older first


def test_under_wsl_the_packages_for_ubuntu_bring_the_bridge_and_no_others_do() -> None:
    route = install.rocm_route(found("ubuntu 24.04"), "gfx1100", container="wsl")
    assert isinstance(route, install.Route) and route.rocm == "10.1.0"
    for key in ("debian 13", "fedora"):
        assert isinstance(install.rocm_route(found(key), "gfx1100", container="wsl"), Unknown), key


def test_headers_are_those_that_the_release_has() -> None:
    for key, minor, matched in (("rhel 8", "8.10", False), ("rhel 9", "9.6", True), ("rhel 10", "10.2", False)):
        driver = install.driver_route(found(key, minor), "gfx942", kernel="5.14.0-1.el9")
        assert isinstance(driver, install.DriverRoute)
        words = {word for step in driver.steps for run in step.run for word in run}
        assert any(word.startswith("kernel-devel-matched") for word in words) == matched, key
        folder = next(line for step in driver.steps for line in step.lines if line.startswith("baseurl"))
        assert {"rhel 8": "/el/8.10/", "rhel 9": "/el/9.6/", "rhel 10": "/el/10/"}[key] in folder


def test_a_card_that_no_list_names_runs_and_carries_its_risk() -> None:
    route = install.rocm_route(found("ubuntu 24.04"), "gfx1030", listed=False)
    assert isinstance(route, install.Route) and route.support == "works-unsupported"
    assert route.risk is not None and "none of AMD's lists names" in route.risk


def test_an_override_is_used_within_one_instruction_set_only() -> None:
    route = install.rocm_route(found("ubuntu 24.04"), "gfx1031")
    assert isinstance(route, install.Route) and route.packages == ("amdrocm10.1-gfx1030",)
    assert route.environment == {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"} and route.support == "works-unsupported"
    wheel = install.wheel("gfx1034", "3.12")
    assert wheel is not None and wheel.environment == route.environment and wheel.risk
    native = install.wheel("gfx1031", "3.12")  # AMD's index has the target's own code
    assert native is not None and native.environment is None and "torch[device-gfx1031]" in native.args[0]
    assert native.risk is not None and "it is unsupported" in native.risk
    for gfx in ("gfx1010", "gfx1036", "gfx803", "gfx90c"):
        assert isinstance(install.rocm_route(found("ubuntu 24.04"), gfx), Unknown), gfx
    assert install.wheel("gfx803", "3.12") is None
    assert all(not one.environment for one in install.wheels("gfx1010", "3.12"))


def test_apus_take_the_kernel_that_the_vendor_names() -> None:
    old = install.driver_route(found("ubuntu 24.04"), "gfx1151", kernel="6.8.0-45-generic")
    assert isinstance(old, install.DriverRoute) and (old.kind, old.kernel_line) == ("newer-kernel", "7.0")
    assert [step.after for step in old.steps] == ["reboot"] and not old.secure_boot
    assert old.risk is not None and "6.17.0-19" in old.risk
    for kernel in ("6.17.0-1007-oem", "7.0.0-29-generic", "7.1.2-070102-generic"):
        running = install.driver_route(found("ubuntu 24.04"), "gfx1151", kernel=kernel)
        assert isinstance(running, install.DriverRoute) and not running.steps and not running.risk, kernel
    patched = install.driver_route(found("ubuntu 24.04"), "gfx1151", kernel="6.14.0-1018-oem")
    assert isinstance(patched, install.DriverRoute) and patched.steps and not patched.risk
    assert isinstance(install.driver_route(found("ubuntu 22.04"), "gfx1151", kernel="6.8.0-45-generic"), Unknown)
    wheel = install.wheel("gfx1103", "3.12")
    assert wheel is not None and (wheel.kind, wheel.torch) == ("amd", "2.14.0+rocm10.1.0"), (
        "rocBLAS of rocm7.2 lacks it"
    )
    assert any("torch[device-gfx1103]" in one.args[0] for one in install.wheels("gfx1103", "3.12"))


def test_radeon_keeps_the_kernels_own_driver_where_that_knows_it() -> None:
    here = found("ubuntu 24.04")
    own = install.driver_route(here, "gfx1100", kernel="6.8.0-45-generic")
    built = install.driver_route(here, "gfx1201", kernel="6.8.0-45-generic")
    newer = install.driver_route(here, "gfx1201", kernel="6.11.0-26-generic")
    assert [one.kind for one in (own, built, newer) if isinstance(one, install.DriverRoute)] == [
        "in-tree",
        "newer-kernel",
        "in-tree",
    ]
    # with a release that AMD lists on this kernel, and where the driver is there, no other kernel comes first
    for kept in (
        install.driver_route(here, "gfx1201", kernel="6.8.0-45-generic", stream="newgen_714"),
        install.driver_route(here, "gfx1201", kernel="6.8.0-45-generic", packaged=True),
    ):
        assert isinstance(kept, install.DriverRoute) and kept.kind == "dkms"


def test_firmware_that_is_too_old_takes_the_driver_that_brings_its_own() -> None:
    backports = install.driver_route(found("debian 12"), "gfx1201", kernel="6.12.9+bpo-amd64")
    assert isinstance(backports, install.DriverRoute) and backports.kind == "dkms"
    plain = install.driver_route(found("debian 13"), "gfx1201", kernel="6.12.43-amd64")
    assert isinstance(plain, install.DriverRoute) and plain.kind == "in-tree"
    assert [shlex.join(run) for step in plain.steps for run in step.run] == ["apt install firmware-amd-graphics"]


def test_secure_boot_needs_a_key_for_a_built_module_and_no_other() -> None:
    here = found("ubuntu 24.04")
    asked = install.driver_route(here, "gfx942", kernel="6.8.0-45-generic", secure_boot=True)
    off = install.driver_route(here, "gfx942", kernel="6.8.0-45-generic", secure_boot=False)
    own = install.driver_route(here, "gfx1100", kernel="6.8.0-45-generic", secure_boot=True)
    assert isinstance(asked, install.DriverRoute) and "/var/lib/shim-signed/mok/MOK.der" in asked.secure_boot[0].run[0]
    assert any("console" in note for note in asked.notes) and "Enroll MOK" in asked.notes[-1]
    assert isinstance(off, install.DriverRoute) and not off.secure_boot and "console" not in " ".join(off.notes)
    assert isinstance(own, install.DriverRoute) and not own.secure_boot


def test_the_key_is_enrolled_before_the_restart_and_looked_at_after_it() -> None:
    driver = install.driver_route(found("ubuntu 24.04"), "gfx942", kernel="6.8.0-45-generic", secure_boot=True)
    assert isinstance(driver, install.DriverRoute)
    ids = [step.id for step in driver.ordered]
    assert ids[-4:] == ["apt-driver", "secure-boot-import", "reboot", "secure-boot-check"]
    assert len(ids) == len(driver.steps) + len(driver.secure_boot)


def test_other_processors_are_stated_unknowns() -> None:
    here = found("debian 13")
    for answer in (
        install.driver_route(here, "gfx942", arch="aarch64"),
        install.rocm_route(here, "gfx942", arch="aarch64"),
        install.nvidia_driver(found("debian 12"), "12.0", arch="aarch64"),  # NVIDIA's folder for it was not seen
    ):
        assert isinstance(answer, Unknown) and "aarch64" in answer.why


def test_what_follows_from_older_pages_is_said() -> None:
    for key in (*WHOLE, "sles 15", "sles 16"):
        driver = install.driver_route(whole(key), "gfx942", kernel=KERNELS.get(key, "6.4.0"), secure_boot=False)
        assert isinstance(driver, install.DriverRoute)
        assert "remove it first" in driver.notes[0]  # AMD's caution on all its pages
        assert ("derived from the page of driver 31.30" in driver.unsettled) == key.startswith("sles"), key
        assert "31.60, whose repository was not found on 2026-11-28" in driver.unsettled, key
    resolute = install.driver_route(found("ubuntu 26.04"), "gfx942", kernel="7.0.0-10-generic")
    assert isinstance(resolute, install.DriverRoute) and resolute.kind == "dkms"
    assert "cryptsetup-initramfs" in " ".join(resolute.notes)
    route = install.rocm_route(found("ubuntu 24.04"), "gfx942")
    assert isinstance(route, install.Route) and "libhsa-runtime64-1" in route.notes[0]


@pytest.mark.parametrize(
    ("kernel", "packages"),
    [
        ("6.8.0-71-generic", "linux-headers-6.8.0-71-generic linux-modules-extra-6.8.0-71-generic"),
        ("6.14.0-29-generic", "linux-headers-6.14.0-29-generic linux-modules-extra-6.14.0-29-generic"),
        ("6.17.0-14-generic", "linux-headers-6.17.0-14-generic linux-modules-extra-6.17.0-14-generic"),
        ("6.17.0-1012-oem", "linux-headers-6.17.0-1012-oem"),
        ("7.0.0-22-generic", "linux-headers-7.0.0-22-generic"),
    ],
)
def test_ubuntu_kernels_have_extra_modules_before_7_0(kernel: str, packages: str) -> None:
    driver = install.packaged_driver(found("ubuntu 24.04"), "gfx942", kernel=kernel)
    assert driver is not None
    lines = [" ".join(one) for step in driver.steps for one in step.run]
    assert f"apt install {packages}" in lines
    assert ("ubuntu-extra" in driver.sources) == ("extra" not in packages)


def test_sles_16_takes_dkms_from_package_hub_and_has_no_modules() -> None:
    driver = install.packaged_driver(found("sles 16", "16.0"), "gfx942", kernel="6.12.0-160000.5-default")
    assert driver is not None
    enabled = [one for step in driver.steps for one in step.run if one[0] == "SUSEConnect"]
    assert enabled == [("SUSEConnect", "-p", "PackageHub/16.0/x86_64")]


def test_sles_has_packages_by_target_for_instinct_only() -> None:
    here = found("sles 15", "15.7")
    instinct, radeon = install.rocm_route(here, "gfx942"), install.rocm_route(here, "gfx1100")
    assert isinstance(instinct, install.Route) and instinct.packages == ("amdrocm10.1-gfx942",)
    assert isinstance(radeon, install.Route) and radeon.packages == ("rocm",)
    # AMD's prerequisites for that one: three repositories of openSUSE, by the number of this release
    leap = install.distribution(system("opensuse-leap", "15.6"))
    assert found("sles 15").values["suse"] == "15.7"  # without its service pack: the one that AMD lists
    for where, number in ((here, "15.7"), (leap, "15.6")):
        assert where is not None
        route = install.rocm_route(where, "gfx1100")
        assert isinstance(route, install.Route) and not install.missing_names(route.steps)
        urls = [line for step in route.steps for line in step.lines if line.startswith("baseurl=")]
        assert [url.split("/repositories/")[-1] for url in urls][:3] == [
            f"devel:/languages:/perl/{number}/",
            f"Education/{number}/",
            "science/SLE_15_SP5/",
        ]
        # nobody answers for a new key where the script runs
        refreshed = [words for step in route.steps for words in step.run if "refresh" in words]
        assert refreshed and all("--gpg-auto-import-keys" in words for words in refreshed)
        assert {words[-1] for step in route.undo for words in step.run if "removerepo" in words} == {
            "ROCm-7.2.4",
            "rocm-needs-perl",
            "rocm-needs-education",
            "rocm-needs-science",
        }
    assert isinstance(install.rocm_route(here, "gfx1151"), Unknown)


def test_a_rocm_without_a_driver_release_keeps_the_kernels_own() -> None:
    driver = install.driver_route(found("ubuntu 24.04"), "gfx942", kernel="6.8.0-45-generic", stream="classic_61")
    assert isinstance(driver, install.DriverRoute) and driver.kind == "in-tree"


def test_a_point_release_is_its_release() -> None:
    one = install.distribution(system("ubuntu", "24.04.1"))
    assert one is not None and one.key == "ubuntu 24.04"
    other = install.distribution(system("ubuntu", "24.10.1"))
    assert other is not None and other.release_unnamed


@pytest.mark.parametrize("name", ["rocky 9", "almalinux 9", "rocky 10", "almalinux 10"])
def test_rebuilds_take_epel_from_their_own_signed_repository(name: str) -> None:
    rows = load_table("install_nvidia")["vendor"]
    row = next(one for one in rows if name in one["distributions"])
    steps = load_table("install_nvidia")["steps"]
    assert [steps[one]["run"] for one in row["steps"] if one.startswith("epel")] == [["dnf install epel-release"]]


@pytest.mark.parametrize(
    ("kernel", "ending"),
    [
        ("6.1.0-38-amd64", "amd64"),
        ("6.1.0-38-cloud-amd64", "cloud-amd64"),
        ("6.12.41+deb13-amd64", "amd64"),
        ("6.12.41+deb13-rt-amd64", "rt-amd64"),
        ("", "amd64"),
        ("7.2.13-custom", "amd64"),
    ],
)
def test_debian_takes_its_newest_kernel_together_with_the_headers(kernel: str, ending: str) -> None:
    """The headers of the running kernel leave the archive with the next one: what starts next gets the module."""
    nvidia = install.nvidia_driver(found("debian 12"), "8.9", kernel=kernel)
    amd = install.driver_route(found("debian 13"), "gfx942", kernel=kernel)
    for route in (nvidia, amd):
        assert isinstance(route, install.DriverRoute)
        commands = [command for step in route.steps for command in step.run]
        assert ("apt", "install", f"linux-image-{ending}", f"linux-headers-{ending}") in commands
        assert not [one for one in commands if any(word.startswith("linux-headers-6") for word in one)]


@pytest.mark.parametrize(
    ("key", "kernel", "package"),
    [
        ("ubuntu 22.04", "5.15.0-151-generic", "linux-generic "),
        ("ubuntu 22.04", "6.8.0-71-generic", "linux-generic-hwe-22.04 "),
        ("ubuntu 24.04", "6.8.0-71-generic", "linux-generic "),
        ("ubuntu 24.04", "6.14.0-29-generic", "linux-generic-hwe-24.04 "),
        ("ubuntu 24.04", "6.17.0-1010-oem", ""),
        ("ubuntu 24.04", "", ""),
        ("debian 12", "6.1.0-38-amd64", ""),
    ],
)
def test_a_kernel_that_left_the_archive_is_followed_by_its_line(key: str, kernel: str, package: str) -> None:
    note, sources = install.kernel_gone(found(key), kernel)
    assert (f"apt install {package}" in note and bool(sources)) if package else (note, sources) == ("", ())
    route = install.driver_route(found(key), "gfx942", kernel=kernel)
    assert isinstance(route, install.DriverRoute)
    assert (note in route.notes) is bool(package)


def test_what_is_built_on_ubuntu_has_kernels_of_its_own() -> None:
    codename = Known("noble", Source("read /etc/os-release"))
    mint = install.distribution(replace(system("linuxmint", "22.1"), codename=codename))
    assert mint is not None and mint.key == "ubuntu 24.04"
    assert install.kernel_gone(mint, "6.8.0-71-generic") == ("", ())


def test_fedora_gets_nvidias_driver_of_rpm_fusion_for_the_gpus_that_it_drives() -> None:
    fedora = install.distribution(system("fedora", "44"))
    route = install.nvidia_driver(fedora, "8.9", secure_boot=False)
    assert isinstance(route, install.DriverRoute) and route.least == "580" and "RPM Fusion" in (route.risk or "")
    lines = [shlex.join(one) for step in route.steps for one in step.run]
    # Headers come for the newest kernel, while akmods by itself builds for the one that runs: the next start builds.
    assert lines[0] == "dnf upgrade --refresh kernel"
    assert "rpmfusion-nonfree-release-44.noarch.rpm" in lines[1]
    assert lines[2:] == ["dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda", "reboot"]
    assert "at the next start" in (route.risk or "")
    assert not route.secure_boot and "kmodgenca" not in " ".join(lines)
    pascal = install.nvidia_driver(fedora, "6.1", secure_boot=False)  # which the newest one no longer drives
    assert isinstance(pascal, install.DriverRoute) and (pascal.driver, pascal.kind) == ("580", "packaged")
    assert any("akmod-nvidia-580xx" in one for step in pascal.steps for one in step.run)
    assert any("dnf info akmod-nvidia" in note for note in pascal.notes)  # a release before the packages were split
    assert isinstance(install.nvidia_driver(fedora, "3.7"), Unknown), "no maintained branch drives Kepler"
    assert isinstance(install.nvidia_driver(fedora, "8.9", arch="aarch64"), Unknown)


@pytest.mark.parametrize(("name", "release"), [("fedora", "44"), ("rocky", "9.6"), ("rhel", "10.0")])
def test_a_driver_for_newer_gpus_is_not_taken_for_one_that_nobody_knows(name: str, release: str) -> None:
    here = install.distribution(system(name, release))
    route = install.nvidia_driver(here, None, kernel="6.1.0-38-amd64")
    assert isinstance(route, Unknown) and "7.5" in route.why and "not known" in route.why
    assert isinstance(install.nvidia_driver(here, "7.5", kernel="6.1.0-38-amd64"), install.DriverRoute)


@pytest.mark.parametrize("release", ["12", "13"])
def test_of_a_gpu_that_nobody_knows_debians_own_driver_is_the_safer_one(release: str) -> None:
    here = found(f"debian {release}")
    route = install.nvidia_driver(here, None, kernel="6.1.0-38-amd64")
    assert isinstance(route, install.DriverRoute) and route.kind == "packaged"
    assert (route.risk or "").startswith("It supports no GPU from 10.0 on")
    newer = install.nvidia_driver(here, "8.9", kernel="6.1.0-38-amd64")
    assert isinstance(newer, install.DriverRoute) and newer.kind == "dkms"


@pytest.mark.parametrize(
    ("capability", "kernel"),
    [("8.7", "5.15.148-tegra"), ("11.0", "6.8.12-tegra"), ("7.2", ""), (None, "5.15.148-tegra")],
)
def test_the_driver_of_a_jetson_comes_with_jetpack(capability: str | None, kernel: str) -> None:
    route = install.nvidia_driver(found("ubuntu 22.04"), capability, kernel=kernel, arch="aarch64")
    assert isinstance(route, Unknown) and "JetPack" in route.why
    grace = install.nvidia_driver(found("ubuntu 22.04"), "9.0", kernel="6.8.0-1021-nvidia-64k", arch="aarch64")
    assert isinstance(grace, install.DriverRoute)


@pytest.mark.parametrize("secure_boot", [True, None])
def test_the_key_is_made_before_the_module_that_it_signs(secure_boot: bool | None) -> None:
    route = install.nvidia_driver(install.distribution(system("fedora", "44")), "8.9", secure_boot=secure_boot)
    assert isinstance(route, install.DriverRoute)
    lines = [shlex.join(one) for step in route.ordered for one in step.run]
    installed = lines.index("dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda")  # which begins to build
    assert lines.index("kmodgenca -a") < installed
    enrol = "mokutil --import /etc/pki/akmods/certs/public_key.der"
    if secure_boot:
        assert installed < lines.index(enrol) < lines.index("reboot")
        assert any("blue screen" in note for note in route.notes)
    else:
        assert enrol not in lines and enrol in " ".join(route.notes)


@pytest.mark.parametrize(("key", "release"), [("rocky 9", "9.6"), ("rocky 10", "10.1"), ("almalinux 10", "10.1")])
def test_rebuilds_get_the_kernel_of_the_headers_that_their_repositories_keep(key: str, release: str) -> None:
    """Headers of a newer kernel alone would build a driver that the running one does not load."""
    name = key.partition(" ")[0]
    route = install.driver_route(install.distribution(system(name, release)), "gfx942", kernel="5.14.0-1.el9.x86_64")
    assert isinstance(route, install.DriverRoute)
    (headers,) = [one for step in route.steps for one in step.run if "kernel-devel" in one]
    assert "kernel" in headers and not any("5.14.0" in word for word in headers)
    (step,) = [step for step in route.steps if headers in step.run]
    assert step.after == "reboot" and "newest kernel" in step.text
    nvidia = install.nvidia_driver(install.distribution(system(name, release)), "8.9", kernel="5.14.0-1.el9.x86_64")
    assert isinstance(nvidia, install.DriverRoute)
    assert ("dnf", "install", "kernel", "kernel-headers", "kernel-devel") in [
        one for step in nvidia.steps for one in step.run
    ]
