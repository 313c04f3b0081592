"""What older guides left behind: variables, parameters of the driver, packages; from findings alone."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.repair.setup.plan import Verify
from tests.golden.edits import Broken
from tests.repair.setup.kit import commands, ids, plan_in, plan_of, states, step_of
from tests.repair.setup.world.catalogue import CASES
from tests.repair.setup.world.follow import Person


def test_an_override_that_does_harm_is_taken_out_by_the_command_that_finds_its_file() -> None:
    found = plan_in("xtx-ubuntu2404-old-guide")
    step = step_of(found, "unset-hsa-override-gfx-version")
    assert (step.state, step.effective, step.optional) == ("todo", "new-login", False)
    assert step.verify == Verify("gfx-override-mismatch")
    assert any("rocdoctor fix gfx-override-mismatch" in note for note in step.notes)
    assert "HSA_OVERRIDE_GFX_VERSION=10.3.0" in [one.value for one in step.evidence]
    assert states(found)["checks"] == "waiting"


def test_an_override_that_the_card_lives_on_stays() -> None:
    assert not [name for name in ids(plan_of("rx6600")) if name.startswith("unset-")]
    assert not [name for name in ids(plan_of("rx6700xt-override")) if name.startswith("unset-")]


def test_in_a_container_the_variable_is_that_of_its_start() -> None:
    found = plan_of("rx7900xtx-podman", lambda machine: machine.env(HSA_OVERRIDE_GFX_VERSION="10.3.0"))
    step = step_of(found, "unset-hsa-override-gfx-version")
    assert "podman container" in step.notes[-1]
    assert "rocdoctor fix" not in " ".join(step.notes)


def test_a_variable_named_by_two_checks_is_one_step() -> None:
    def edit(machine: Broken) -> None:
        machine.env(ROCM_PATH="/opt/rocm-5.4.2", NCCL_DEBUGG="INFO")

    found = [name for name in ids(plan_of("rx9070xt", edit)) if name.startswith("unset-")]
    assert found == ["unset-rocm-path", "unset-nccl-debugg"]
    assert step_of(plan_of("rx9070xt", edit), "unset-nccl-debugg").optional  # a note, no more


def test_eight_gpus_with_one_variable_are_one_step() -> None:
    found = plan_of("mi300x-8gpu", lambda machine: machine.env(HSA_OVERRIDE_GFX_VERSION="11.0.0"))
    assert [name for name in ids(found) if name.startswith("unset-")] == ["unset-hsa-override-gfx-version"]


def test_a_parameter_of_the_driver_goes_off_the_command_line() -> None:
    def edit(machine: Broken) -> None:
        line = machine.text("read /proc/cmdline")
        machine.set("read /proc/cmdline", f"{line} amdgpu.ppfeaturemask=0xfff7bffe")
        machine.set("read /sys/module/amdgpu/parameters/ppfeaturemask", "0xfff7bffe")
        parameters = machine.text("list /sys/module/amdgpu/parameters/*").splitlines()
        path = "/sys/module/amdgpu/parameters/ppfeaturemask"
        machine.set("list /sys/module/amdgpu/parameters/*", "\n".join(sorted({*parameters, path})))

    found = step_of(plan_of("rx7900xtx-raphael", edit), "parameter-ppfeaturemask")
    assert (found.state, found.risk, found.effective) == ("todo", "reboots", "reboot")
    assert commands(found) == [
        r"sed -i 's/ *\bamdgpu\.ppfeaturemask=0xfff7bffe\b//g' /etc/default/grub",
        "update-grub",
    ]
    fedora = step_of(plan_of("rx9070xt", edit), "parameter-ppfeaturemask")
    assert commands(fedora) == ["grubby --update-kernel=ALL --remove-args=amdgpu.ppfeaturemask=0xfff7bffe"]


def test_a_parameter_of_a_file_is_for_a_person() -> None:
    def edit(machine: Broken) -> None:
        path = "/sys/module/amdgpu/parameters/ppfeaturemask"
        machine.set(f"read {path}", "0xfff7bffe")
        parameters = machine.text("list /sys/module/amdgpu/parameters/*").splitlines()
        machine.set("list /sys/module/amdgpu/parameters/*", "\n".join(sorted({*parameters, path})))

    found = step_of(plan_of("rx7900xtx-raphael", edit), "parameter-ppfeaturemask")
    assert (found.state, found.risk, found.actions) == ("todo", "manual", ())
    assert any("/etc/modprobe.d" in note for note in found.notes)


def test_packages_that_no_release_has_any_more_are_removed_by_name() -> None:
    packages = {"rocm-dkms": "4.3.0.40300-52", "rocm-core": "4.3.0.40300-52", "hip-base": "4.3.21300.5bbc51d8-40300"}
    found = step_of(plan_in("xtx-ubuntu2404-fresh", packages=packages, rocm="4.3.0"), "obsolete-packages")
    assert found.risk == "risky"
    assert commands(found) == ["apt remove hip-base rocm-dkms"]
    assert not found.undo, "no repository has them"
    # without them one release is left; what is of another one and still to be had is for the person
    alone = {"rocm-dkms": "5.7.0.50700-63", "rocm-core": "7.2.0.70200-43"}
    for more, mixed in (({}, False), ({"rocm-hip-runtime": "5.7.0.50700-63"}, True)):
        steps = ids(plan_in("xtx-ubuntu2404-fresh", packages={**alone, **more}, rocm="7.2.0"))
        assert "obsolete-packages" in steps and ("mixed-rocm-packages" in steps) == mixed, more
    kept = plan_in("xtx-ubuntu2404-fresh", packages={"rocm-core": "7.2.0.70200-1"}, rocm="7.2.0")
    assert "obsolete-packages" not in ids(kept)


def test_packages_of_amdgpu_pro_are_named_and_stay() -> None:
    packages = {
        "rocm-core": "7.2.0.70200-43",
        "amdgpu-pro-core": "23.10-1620044.22.04",
        "amf-amdgpu-pro": "1.4.30-1620044.22.04",
    }
    found = step_of(plan_in("xtx-ubuntu2404-fresh", packages=packages, rocm="7.2.0"), "amdgpu-pro")
    assert (found.state, found.risk, found.optional, found.actions) == ("todo", "manual", True, ())
    assert "amdgpu-pro-core, amf-amdgpu-pro" in found.why and "23.10-1620044.22.04" in found.evidence[0].value
    assert "sudo apt remove amdgpu-pro-core amf-amdgpu-pro" in found.notes[0]
    del packages["amdgpu-pro-core"], packages["amf-amdgpu-pro"]
    bare = ids(plan_in("xtx-ubuntu2404-fresh", packages=packages, rocm="7.2.0"))
    assert not {"amdgpu-pro", "mixed-rocm-packages"} & set(bare)
    driver = {"rocm-core": "7.2.0.70200-43", "amdgpu-dkms": "1:6.16.13.30300-1", "amdgpu-core": "1:7.2.70200-1"}
    assert "amdgpu-pro" not in ids(plan_in("xtx-ubuntu2404-fresh", packages=driver, rocm="7.2.0"))


def test_a_clean_machine_has_nothing_to_clean() -> None:
    for name in ("mi300x-8gpu", "rx9070xt", "cpu-only-laptop", "h100-8gpu"):
        assert not [step.id for step in plan_of(name).steps if step.layer == "clean"]


def test_an_integrated_gpu_is_never_told_to_spell_gttsize_right() -> None:
    """The spelling that was meant is deprecated: TTM's limit decides, and one plan must not say both."""
    log = "[    3.6] amdgpu: unknown parameter 'gtt_size' ignored\n"
    found = plan_of("strix-halo", lambda machine: machine.set("run dmesg", log))
    step = step_of(found, "parameter-gtt-size")
    said = " ".join(step.notes)
    assert "ttm.pages_limit" in said and "instead of gtt_size" not in said
    assert step.why == "amdgpu does not know the parameter gtt_size, and ignored it."
    # the step on memory tells what to set, where the evidence has what it needs
    assert "apu-memory" in ids(found) and "amd-ttm" not in said

    def short(machine: Broken) -> None:
        machine.set("run dmesg", log)
        machine.remove("read /sys/module/ttm/parameters/pages_limit")

    found = plan_of("strix-halo", short)
    assert "apu-memory" not in ids(found)
    assert "amd-ttm --set N and a restart" in step_of(found, "parameter-gtt-size").notes[-1]


def test_two_spellings_of_one_parameter_are_one_step() -> None:
    log = (
        "[    3.5] amdgpu 0000:c1:00.0: amdgpu: [drm] GTT size has been set as 103079215104 but TTM size has been set "
        "as 33456128000, this is unusual\n[    3.6] amdgpu: unknown parameter 'gtt_size' ignored\n"
    )
    found = plan_of("strix-halo", lambda machine: machine.set("run dmesg", log))
    steps = [step for step in found.steps if step.id.startswith("parameter-")]
    assert [step.id for step in steps] == ["parameter-gttsize"]
    assert steps[0].title == "Leave the amdgpu parameters gttsize and gtt_size to the driver"
    assert "TTM hands out" in steps[0].why and "gtt_size" in steps[0].why and len(steps[0].evidence) == 2
    told = " ".join(steps[0].notes)
    assert "grep -rns -e gttsize -e gtt_size" in told
    assert "rebuild it after a change (dracut --regenerate-all --force)" in told


def test_lists_of_another_release_are_switched_off_and_back() -> None:
    """An old guide was followed on another release: its lists stay through an upgrade. (sed as it is.)"""
    path = "/etc/apt/sources.list.d/rocm.list"
    signed = "deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com"
    old = f"{signed}/rocm/apt/5.7 jammy main\n# {signed}/rocm/apt/5.6 jammy main\n"
    text = f"{old}{signed}/graphics/7.2/ubuntu noble main\n"
    case = next(one for one in CASES if one.name == "xtx-ubuntu2404-fresh")
    assert case.box is not None and case.state is not None
    person = Person(case.box, replace(case.state, texts={path: text}))
    found = step_of(plan_in(case.name, texts={path: text}), "package-sources")
    assert (
        found.changes == (path,)
        and "but these are listed too: https://repo.radeon.com/rocm/apt/5.7 jammy." in found.why
    )
    assert [one.source for one in found.evidence] == [f"read {path}"]
    person.do(found)
    off = person.state.texts[path]
    assert off == text.replace(f"{signed}/rocm/apt/5.7", f"# {signed}/rocm/apt/5.7", 1)
    assert "package-sources" not in ids(plan_in(case.name, texts={path: off}))
    for right in (f"{signed}/rocm/apt/7.2.4 noble main\n", "deb https://x.example.org/ stable main\n", ""):
        assert "package-sources" not in ids(plan_in(case.name, texts={path: right})), right
    jammy = f"{signed}/rocm/apt/7.2.4 jammy main\n"
    assert "package-sources" not in ids(plan_in("xtx-debian12-fresh", texts={path: jammy})), "Debian 12 takes jammy's"
