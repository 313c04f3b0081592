"""Set-up tables: each row has its source, each command parses, each package exists, and each machine has an answer."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from rocdoctor.knowledge import install, load, lookup
from rocdoctor.knowledge.install.steps import fill_text, table_steps
from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts.system import OperatingSystem
from tests.install_kit import KERNELS, TARGETS, WHOLE, every_route, found, system, whole

NAMES = (
    "install",
    "install_rocm",
    "install_torch",
    "install_nvidia",
    "install_cluster",
    "install_packages",
    "install_kernel",
    "install_wsl",
    "install_servers",
    "install_apu",
    "install_access",
    "install_schedulers",
    "install_offline",
    "install_nix",
    "install_images",
)
WITH_STEPS = ("install", "install_rocm", "install_nvidia", "install_servers", "install_cluster", "install_kernel")
# The hosts of the vendors themselves, and of the distributions' own archives.
OFFICIAL = {
    "repo.radeon.com",
    "repo.amd.com",
    "stable.repo.amd.com",
    "rocm.docs.amd.com",
    "download.pytorch.org",
    "pytorch.org",
    "dl.fedoraproject.org",
    "docs.fedoraproject.org",
    "developer.download.nvidia.com",
    "download.nvidia.com",
    "en.opensuse.org",
    "docs.nvidia.com",
    "nvidia.github.io",
    "deb.debian.org",
    "download.opensuse.org",
    "rocm.github.io",
    "helm.ngc.nvidia.com",
    "download1.rpmfusion.org",
    "rpmfusion.org",
}
# Files of AMD's own repositories, as its pages name them.
OFFICIAL_FILES = "https://raw.githubusercontent.com/ROCm/"


@pytest.mark.parametrize("name", NAMES)
def test_every_row_names_a_source_of_its_table_and_every_source_is_used(name: str) -> None:
    table = load.load_table(name)
    cited: set[str] = set()

    def walk(node: object) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "s" or key.endswith("_s"):
                    cited.update(load.words(value))
                else:
                    walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk({key: value for key, value in table.items() if key != "sources"})
    assert cited == set(table["sources"])
    assert all(one["kind"] in load.KINDS for one in table["sources"].values())


def test_every_row_of_distributions_drivers_streams_and_steps_has_its_source() -> None:
    base, rocm = load.load_table("install"), load.load_table("install_rocm")
    nvidia, cluster = load.load_table("install_nvidia"), load.load_table("install_cluster")
    rows = [*base["distributions"], *base["derived"], *base["hosts"].values(), *base["driver"]["routes"].values()]
    rows += [*base["firmware"], *rocm["streams"], *rocm["own"], *nvidia["drivers"], *nvidia["vendor"]]
    rows += [*cluster["runtimes"], *cluster["toolkits"], *load.load_table("install_torch")["companions"]]
    for name in WITH_STEPS:
        rows += load.load_table(name)["steps"].values()
    assert all(load.words(row["s"]) for row in rows)


def test_addresses_are_those_of_the_vendors() -> None:
    for name in NAMES:
        text = (load.knowledge_folder() / f"{name}.yaml").read_text()
        for address in re.findall(r"https?://[^\s'\",}]+", text):
            assert urlsplit(address).hostname in OFFICIAL or address.startswith(OFFICIAL_FILES), address
    assert all(urlsplit(one.page).scheme == "https" for one in install.hosts().values())


@pytest.mark.parametrize("table", WITH_STEPS)
def test_commands_are_lists_of_words_without_a_shell(table: str) -> None:
    rows = load.load_table(table)["steps"]
    for name, step in table_steps(table).items():
        assert step.run or step.file, name
        assert (step.file is None) == (not step.lines), name
        for text, command in zip(rows[name].get("run", ()), step.run, strict=True):
            assert tuple(shlex.split(text)) == command and command
            assert not set("|;&<>`$#") & set("".join(command)), command
            assert not command[0].startswith("sudo")
            # a key or a package in a folder of everybody could be exchanged before root reads it
            assert not any(word.startswith("/tmp") for word in command), command


def test_shellcheck_has_nothing_to_say_about_the_commands() -> None:
    tool = shutil.which("shellcheck")
    if tool is None:
        pytest.skip("shellcheck is not installed")
    lines = {shlex.join(command) for _, steps in every_route() for step in steps for command in step.run}
    script = "#!/bin/sh\n" + "\n".join(sorted(lines)) + "\n"
    done = subprocess.run([tool, "-"], input=script, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout


def test_only_what_the_machine_must_tell_stays_open() -> None:
    open_ones = {name for _, steps in every_route() for name in install.missing_names(steps)}
    # elver is the minor release of a machine that tells only its major one, number that of a Fedora that tells none
    assert open_ones <= {"elver", "number"}


def test_steps_use_only_names_that_a_table_explains() -> None:
    known = {
        *install.hosts(),
        "amd_legacy_name",
        "codename",
        "suite",
        "osdir",
        "el",
        "elver",
        "eldir",
        "sledir",
        "suse",
        "kernel",
        "elkernel",
        "debkernel",
        "user",
    }
    known |= {
        "drv",
        "cert",
        "install",
        "firmware",
        "mm",
        "ver",
        "dir",
        "rocm_packages",
        "nvdir",
        "arch",
        "nvarch",
        "branch",
        "number",
        "word",
        "slug",
        "pattern",
    }
    for table in WITH_STEPS:
        for step in table_steps(table).values():
            assert set(step.missing) <= known, step.id


_VERBS = {("apt", "install"), ("dnf", "install"), ("zypper", "install"), ("pacman", "-Syu")}


def installed(step: install.InstallStep) -> Iterator[str]:
    for command in step.run:
        plain = [word for word in command if not word.startswith("--")]
        if tuple(plain[:2]) in _VERBS:
            yield from (word for word in plain[2:] if "/" not in word)


def test_every_package_of_a_route_is_in_the_lists_of_its_release() -> None:
    asked: set[str] = set()
    for one, steps in every_route():
        for step in steps:
            for package in installed(step):
                asked.add(package)
                assert install.package_exists(one, package) is True, f"{one.key}: {package} ({step.id})"
    assert {"amdgpu-dkms", "amdrocm10.1-gfx1100", "amdrocm7.14-gfx1100", "rocm", "nvidia-driver"} <= asked


@pytest.mark.parametrize("key", [one.key for one in install.distributions()])
def test_every_target_on_every_distribution_has_a_route_or_a_stated_unknown(key: str) -> None:
    one = whole(key) if key in WHOLE else next(row for row in install.distributions() if row.key == key)
    for gfx in TARGETS:
        route = install.rocm_route(one, gfx)
        driver = install.driver_route(one, gfx, kernel=KERNELS.get(key, "6.12.1"))
        for answer in (route, driver):
            if isinstance(answer, Unknown):
                assert len(answer.why) > 20
            elif answer.support == "works-unsupported":
                assert answer.risk, "what nobody supports needs its risk"
        if isinstance(route, install.Route):
            assert route.steps and route.undo and route.packages
            assert install.kind_of(route) in load.KINDS  # every source is in the table
        if isinstance(driver, install.DriverRoute):
            assert driver.sources and install.weakest(driver.table, driver.sources) in load.KINDS
        for wheel in install.wheels(gfx, one.python or "3.12"):
            assert "--index-url" in wheel.args and wheel.sources
            assert wheel.support != "works-unsupported" or wheel.risk


@pytest.mark.parametrize("key", WHOLE)
@pytest.mark.parametrize("gfx", ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1102", "gfx1201"])
def test_driver_rocm_and_torch_are_complete_where_they_must_be(key: str, gfx: str) -> None:
    one = whole(key)
    route = install.rocm_route(one, gfx)
    driver = install.driver_route(one, gfx, kernel=KERNELS[key])
    wheel = install.wheel(gfx, one.python or "")
    assert isinstance(route, install.Route) and route.support == "official" and not route.missing
    assert isinstance(driver, install.DriverRoute) and not driver.missing
    assert wheel is not None and wheel.support == "official" and not wheel.missing


def test_drivers_are_listed_for_their_rocm_by_the_compatibility_table() -> None:
    releases = load.load_table("install")["driver"]["releases"]
    for stream in install.streams():
        if releases[stream.id] is not None:
            assert lookup.driver_supports(releases[stream.id], stream.rocm) is True, stream.id


def test_targets_of_a_stream_are_those_of_the_compatibility_table() -> None:
    for stream in install.streams():
        release = lookup.rocm_release(stream.rocm)
        assert release is not None, stream.id
        if release.gfx is not None and stream.gfx:
            assert set(stream.gfx) == set(release.gfx), stream.id
        assert set(stream.deprecated) <= set(release.gfx_deprecated)


@pytest.mark.parametrize(
    ("name", "version", "key"),
    [
        ("ubuntu", "24.04", "ubuntu 24.04"),
        ("rhel", "9.6", "rhel 9"),
        ("rocky", "9.5", "rocky 9"),
        ("debian", "13", "debian 13"),
        ("fedora", "44", "fedora"),
        ("arch", "", "arch"),
        ("pop", "22.04", "ubuntu 22.04"),
        ("ubuntu", "23.10", "ubuntu"),
        ("debian", "11", "debian"),
        ("linuxmint", "20", None),
        ("rhel", "7.9", None),
    ],
)
def test_distributions_are_found_by_id_and_release(name: str, version: str, key: str | None) -> None:
    one = install.distribution(system(name, version))
    assert (one.key if one else None) == key


def test_a_distribution_that_nobody_names_is_an_unknown_and_not_a_guess() -> None:
    assert install.distribution(OperatingSystem()) is None
    for answer in (
        install.rocm_route(None, "gfx1100"),
        install.driver_route(None, "gfx1100"),
        install.nvidia_driver(None, "8.6"),
    ):
        assert isinstance(answer, Unknown) and "distribution" in answer.why


@pytest.mark.parametrize(("container", "kind"), [("docker", "host"), ("wsl", "windows"), ("kubernetes", "host")])
def test_no_driver_is_installed_where_it_belongs_to_somebody_else(container: str, kind: str) -> None:
    here = found("ubuntu 24.04")
    for one in (
        install.driver_route(here, "gfx1100", container=container),
        install.nvidia_driver(here, "8.6", container=container),
    ):
        assert isinstance(one, install.DriverRoute) and one.kind == kind and not one.steps


def test_packages_that_are_gone_missing_or_never_looked_up() -> None:
    here = found("debian 12")
    assert install.package_exists(here, "amd-smi") is False
    assert install.package_exists(found("debian 13"), "amd-smi") is True
    assert install.package_exists(here, "rocm-dkms") is False
    assert install.package_exists(here, "no-such-name") is None
    assert install.package_exists(here, "amdrocm7.14-gfx906") is None
    assert install.package_exists(here, "linux-headers-6.1.0-40-amd64") is True
    noble = found("ubuntu 24.04")
    assert install.package_exists(noble, "linux-modules-extra-6.14.0-29-generic") is True
    assert install.package_exists(noble, "linux-modules-extra-7.0.0-22-generic") is False
    assert install.package_exists(here, "amdrocm-core-dev7.14-gfx1100") is True
    assert install.package_exists(found("rhel 9", "9.6"), "amdrocm-core-dev7.14-gfx1100") is None


def test_an_open_name_stays_visible_and_a_filled_one_does_not() -> None:
    step = install.groups_step("")
    assert step.missing == ("user",) and step.after == "new-login"
    assert install.groups_step("ada").run == (("usermod", "-a", "-G", "render,video", "ada"),)
    assert fill_text("{a}/{b}", {"a": "{c}", "c": "x"}) == "x/{b}"


def test_the_kind_of_a_route_is_that_of_its_weakest_source() -> None:
    # the pages were read; the names of the packages of 10.1 stand in secondary texts
    known = install.rocm_route(found("debian 12"), "gfx942")
    assert isinstance(known, install.Route) and install.kind_of(known) == "secondary"
    assert {step.id: step.kind for step in known.steps}["apt-libs"] == "primary"
    guessed = install.nvidia_driver(found("ubuntu 24.04"), "8.6")
    assert isinstance(guessed, install.DriverRoute)
    assert install.weakest(guessed.table, guessed.sources) == "derived"


def test_nothing_of_it_is_loaded_by_the_command_line() -> None:
    program = (
        "import sys, rocdoctor.cli.main\nprint([m for m in sys.modules if 'knowledge.install' in m or m == 'yaml'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.strip() == "[]"


def test_importing_it_reads_no_table() -> None:
    program = (
        "import rocdoctor.knowledge.install\n"
        "from rocdoctor.knowledge import load\n"
        "print(load.load_table.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.strip() == "0"
