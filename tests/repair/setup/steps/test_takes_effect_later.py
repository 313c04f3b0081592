"""What was set and waits for a start or a login is not asked for again."""

from __future__ import annotations

import pytest

from tests.golden.edits import Broken
from tests.repair.setup.kit import Edit, ids, plan_in, plan_of, states, step_of
from tests.repair.setup.steps.test_kernel import _translated

_OURS = "/etc/default/grub.d/90-rocdoctor-iommu.cfg"


def _grub(line: str, *files: tuple[str, str]) -> Edit:
    def edit(machine: Broken) -> None:
        machine.set("read /etc/default/grub", f'GRUB_CMDLINE_LINUX_DEFAULT="{line}"')
        machine.set("list /etc/default/grub.d/*.cfg", "\n".join(path for path, _ in files))
        for path, text in files:
            machine.set(f"read {path}", text)

    return edit


def test_a_parameter_that_is_set_waits_for_the_restart() -> None:
    text = 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT iommu=pt"'
    found = plan_of("mi300x-8gpu", _translated, _grub("quiet", (_OURS, text)))
    step = step_of(found, "iommu")
    assert (step.state, step.actions, step.effective) == ("waiting", (), "reboot")
    assert any(one.source == f"read {_OURS}" for one in step.evidence)
    assert (step_of(found, "restart").state, step_of(found, "restart").optional) == ("todo", step.optional)
    before = plan_of("mi300x-8gpu", _translated, _grub("quiet"))
    assert (step_of(before, "iommu").state, "restart" in ids(before)) == ("todo", not step.optional)


def test_a_word_that_was_taken_out_waits_for_the_restart() -> None:
    case = "xtx-ubuntu2404-nomodeset"
    still = {"/etc/default/grub": 'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash nomodeset"\n'}
    assert states(plan_in(case, texts=still))["driver-unblock"] == "todo"
    gone = plan_in(case, texts={"/etc/default/grub": 'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"\n'})
    assert (states(gone)["driver-unblock"], states(gone)["restart"]) == ("waiting", "todo")


@pytest.mark.parametrize("os_texts", [{"/etc/default/grub": 'GRUB_CMDLINE_LINUX="quiet"\n'}])
def test_where_the_words_are_kept_elsewhere_grubs_settings_prove_nothing(os_texts: dict[str, str]) -> None:
    found = plan_in("rx9070xt-fedora42", cmdline="quiet nomodeset", texts=os_texts)
    assert states(found)["driver-unblock"] == "todo"


def test_an_installed_kernel_waits_for_its_start() -> None:
    modules = {"/lib/modules/7.0.0-29-generic/modules.dep": "", "/lib/modules/6.14.0-29-generic/modules.dep": ""}
    found = plan_in("strix-halo-ubuntu2404", texts=modules)
    assert (states(found)["kernel"], states(found)["restart"]) == ("waiting", "todo")
    assert states(plan_in("strix-halo-ubuntu2404"))["kernel"] == "todo"


def test_a_limit_of_the_next_login_is_not_set_again() -> None:
    def small(machine: Broken) -> None:
        rows = machine.text("read /proc/self/limits").splitlines()
        kept = [
            "Max locked memory         65536                65536                bytes" if "locked" in row else row
            for row in rows
        ]
        machine.set("read /proc/self/limits", "\n".join(kept))

    def given(machine: Broken) -> None:
        machine.remove("read /etc/security/limits.conf")
        machine.set("list /etc/security/limits.d/*.conf", "/etc/security/limits.d/90-rdma.conf")
        machine.set("read /etc/security/limits.d/90-rdma.conf", "* soft memlock unlimited\n* hard memlock unlimited")

    assert states(plan_of("mi300x-8gpu", small))["memlock"] == "todo"
    step = step_of(plan_of("mi300x-8gpu", small, given), "memlock")
    assert (step.state, step.effective, step.actions) == ("waiting", "new-login", ())
