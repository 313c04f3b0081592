"""Wheels, companions, NVIDIA, mixed machines, containers and nodes."""

from __future__ import annotations

import pytest

from rocdoctor.knowledge import install, lookup
from rocdoctor.model.evidence import Unknown
from tests.install_kit import KERNELS, WHOLE, found, gpu, whole


@pytest.mark.parametrize("key", WHOLE)
def test_nvidia_and_machines_without_a_gpu_are_complete_too(key: str) -> None:
    one = whole(key)
    driver = install.nvidia_driver(one, "8.6", kernel=KERNELS[key])
    assert isinstance(driver, install.DriverRoute) and not driver.missing and driver.verify == (("nvidia-smi",),)
    assert install.cuda_wheel("8.6", one.python or "", "580.95.05") is not None
    nothing = install.driver_route(one, "")
    assert isinstance(nothing, install.DriverRoute) and nothing.kind == "none" and not nothing.steps
    cpu = install.cpu_wheel(one.python or "")
    assert cpu is not None and cpu.url.endswith("/whl/cpu")
    assert cpu.torch == "2.14.1"
    assert isinstance(install.rocm_route(one, ""), Unknown)


def test_gcn_has_its_last_release_where_it_was_listed_and_a_wheel_everywhere() -> None:
    old = install.rocm_route(found("ubuntu 22.04"), "gfx906")
    assert isinstance(old, install.Route) and old.support == "deprecated" and old.rocm == "6.1.2" and old.risk
    assert isinstance(install.rocm_route(found("ubuntu 24.04"), "gfx906"), Unknown)
    wheel = install.wheel("gfx906", "3.12")
    assert wheel is not None and wheel.support == "works-unsupported" and wheel.self_contained and wheel.risk


def test_a_wheel_is_proposed_only_where_its_targets_were_read() -> None:
    wheel = install.wheel("gfx1100", "3.12")
    assert wheel is not None and (wheel.torch, wheel.flavour) == ("2.14.0", "rocm7.2")
    assert wheel.args[:2] == ("torch==2.14.0", "torchvision==0.29.0") and wheel.self_contained
    release = lookup.torch_release(wheel.torch or "", wheel.flavour)
    assert release is not None and release.flavour is not None and "gfx1100" in (release.flavour.gfx or ())
    older = install.wheel("gfx1100", "3.9")
    assert older is not None and older.torch == "2.8.0"
    assert install.wheel("gfx1100", "2.7") is None


def test_an_installed_rocm_is_preferred_for_compiling() -> None:
    wheel = install.wheel("gfx1100", "3.12", "6.3.4")
    assert wheel is not None and wheel.flavour == "rocm6.3"
    other = install.wheel("gfx1100", "3.12", "5.2")
    assert other is not None and other.flavour == "rocm7.2"


def test_blackwell_is_not_given_the_old_branch_of_a_distribution() -> None:
    here = found("debian 12")
    older, newest = install.nvidia_driver(here, "7.0"), install.nvidia_driver(here, "12.0")
    assert isinstance(newest, install.DriverRoute) and newest.kind == "dkms" and not newest.risk
    # Branch 535 of its archive is at its end: a GPU before Turing takes the last one that has a module for it.
    assert isinstance(older, install.DriverRoute) and older.kind == "dkms" and older.least == "580"
    assert ("apt", "install", "cuda-drivers-580") in [command for step in older.steps for command in step.run]
    volta = install.nvidia_driver(whole("rhel 9"), "7.0", kernel="5.14.0-570.el9.x86_64")
    assert isinstance(volta, install.DriverRoute) and volta.least == "580"
    oldest = install.nvidia_driver(here, "3.7")
    assert isinstance(oldest, Unknown) and "3.7" in oldest.why


@pytest.mark.parametrize(
    ("capability", "driver", "flavour"),
    [("7.0", "580.95", "cu126"), ("8.6", "550.54", "cu128"), ("8.6", "", "cu128"), ("12.0", "580.95", "cu130")],
)
def test_cuda_wheels_go_by_capability_and_driver(capability: str, driver: str, flavour: str) -> None:
    wheel = install.cuda_wheel(capability, "3.12", driver)
    assert wheel is not None and wheel.flavour == flavour


def test_integrated_gpus_are_left_out_beside_a_card() -> None:
    mixed = install.training_targets([gpu(0, "amd", "gfx1036", True), gpu(1, "amd", "gfx1100")])
    assert mixed == (install.Targets("amd", ("gfx1100",), None, (0,)),)
    alone = install.training_targets([gpu(0, "amd", "gfx1151", True)])
    assert alone[0].gfx == ("gfx1151",) and not alone[0].left_out
    beside = install.training_targets([gpu(0, "amd", "gfx1036", True), gpu(1, "nvidia", capability="8.9")])
    assert [(one.vendor, one.left_out, one.capability) for one in beside] == [("nvidia", (0,), "8.9")]
    two = install.training_targets([gpu(0, "nvidia", capability="12.0"), gpu(1, "nvidia", capability="8.6")])
    assert two[0].capability == "8.6"
    assert install.training_targets([gpu(0, "amd")])[0].unknown == (0,)
    assert install.training_targets([]) == (install.Targets(""),)


def test_two_kinds_of_cards_get_the_packages_of_both() -> None:
    route = install.rocm_route(found("ubuntu 24.04"), ("gfx1100", "gfx1201"))
    assert isinstance(route, install.Route)
    assert route.packages == ("amdrocm10.1-gfx1100", "amdrocm10.1-gfx1201")
    wheel = install.wheel(("gfx1100", "gfx1201"), "3.12")
    assert wheel is not None and wheel.flavour == "rocm7.2"
    other = install.wheel(("gfx1100", "gfx1152"), "3.12")
    assert other is not None and other.args[0].startswith("torch[device-gfx1100,device-gfx1152]==")
    assert install.wheel(("gfx1100", "gfx803"), "3.12") is None
    assert all(one.environment is None for one in install.wheels(("gfx1031", "gfx1100"), "3.12"))
    # an override would reach the other card too
    assert isinstance(install.rocm_route(found("ubuntu 24.04"), ("gfx1100", "gfx1031")), Unknown)


def test_companions_answer_by_target() -> None:
    mi300 = {one.name: one for one in install.companions("gfx942", "7.2")}
    old = {one.name: one for one in install.companions("gfx906", "7.2")}
    assert mi300["flash-attn"].state == mi300["bitsandbytes"].state == "yes"
    assert old["flash-attn"].state == old["bitsandbytes"].state == "no"
    assert {one.name: one.state for one in install.companions("gfx942", "9.9")}["bitsandbytes"] == "unknown"
    assert all(one.risk for one in install.companions("gfx1201") if one.state == "risky")


def test_placeholders_of_pypi_are_told_from_the_real_packages() -> None:
    assert install.placeholder("rocm", "0.1.0") and install.placeholder("rocm-sdk-device-gfx1100", "0.0.1.dev0")
    assert not install.placeholder("rocm", "7.14.0") and not install.placeholder("torch", "0.1.0")


def test_containers_and_nodes() -> None:
    docker = install.container_runtime("amd", "docker", {"gid_render": "993", "gid_video": "44", "image": "x"})
    assert docker is not None and "--group-add=993" in docker.args and docker.needs is None
    assert install.container_runtime("amd", "lxc") is None
    nodes = install.node_needs(found("debian 12"))
    assert "rdma-core" in nodes.packages and nodes.limits.lines == (
        "* soft memlock unlimited",
        "* hard memlock unlimited",
    )
    assert all(install.package_exists(found("debian 12"), one) for one in nodes.packages)
    assert install.node_needs(found("arch")).packages == ()
    assert isinstance(install.toolkit_steps(found("debian 12"), "amd"), Unknown)


def test_a_wheel_whose_rocblas_lacks_the_target_is_not_proposed() -> None:
    """torch's own kernels are not enough: rocBLAS of rocm7.2 has no files for gfx1103, gfx906 and gfx900."""
    phoenix = install.wheels("gfx1103", "3.12")
    assert [(one.kind, one.flavour) for one in phoenix][:1] == [("amd", "rocm10.1")]
    assert not [one for one in phoenix if one.kind == "pytorch.org" and one.self_contained and not one.environment]
    for gfx in ("gfx906", "gfx900"):
        found = install.wheel(gfx, "3.12")
        assert found is not None and (found.flavour, found.torch) == ("rocm6.3", "2.9.1"), gfx
        assert any("2.14.0 (rocm7.2)" in note and gfx in note for note in found.notes)
        assert not [one for one in install.rocm_choices([gfx], "3.12") if "rocm6.4" in one or "rocm7." in one]
        chosen = install.chosen_rocm_wheel([gfx], "3.12", "7.2", "2.14.0")
        assert chosen is None or chosen.kind != "pytorch.org"
    untouched = install.wheel("gfx1100", "3.12")
    assert untouched is not None and untouched.flavour == "rocm7.2"
    assert not any("rocBLAS has no files" in note for note in untouched.notes)
