"""RHEL and SLES give packages to registered systems alone: AMD's first prerequisite (100-prerequisites.rst)."""

from __future__ import annotations

import pytest

from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import OperatingSystem
from rocdoctor.repair.setup.plan import SetupPlan
from tests.kit import k
from tests.machines.files import Files
from tests.repair.setup.desk import desk, gpu, planned, torch
from tests.repair.setup.kit import commands, ids, plan_in, step_of

_CERTIFICATE = "/etc/pki/consumer/cert.pem"
_ACCOUNT = "/etc/zypp/credentials.d/SCCcredentials"


def _without(case: str, path: str, *more: str) -> SetupPlan:
    def edit(files: Files) -> None:
        files.remove(path)
        for one in more:
            files.put(one, "")

    return plan_in(case, files=edit)


@pytest.mark.parametrize(
    ("case", "path", "by", "tell"),
    [
        ("mi300x-8-rhel9-cluster-node", _CERTIFICATE, "subscription-manager register", "subscription-manager identity"),
        ("mi210-8-sles15", _ACCOUNT, "SUSEConnect -r REGCODE", "SUSEConnect --status-text"),
    ],
)
def test_a_system_that_is_not_registered_is_registered_first(case: str, path: str, by: str, tell: str) -> None:
    found = _without(case, path)
    first = step_of(found, "registration")
    assert found.next is first and (first.state, first.risk, first.optional) == ("todo", "manual", False)
    assert by in first.notes[0] and first.verify is not None and first.verify.line == f"sudo {tell}"
    assert step_of(found, "driver-amd").waits_for == "registration"
    registered = step_of(plan_in(case), "registration")
    assert registered.state == "done" and registered.evidence[0].source == f"list {path}"


def test_a_plan_that_fetches_nothing_asks_for_no_registration() -> None:
    found = _without("rtx4090-rhel9-no-torch", _CERTIFICATE)
    fetching = [one.id for one in found.steps if any(word.words[:1] == ("dnf",) for word in one.actions)]
    assert ("registration" in ids(found)) == bool(fetching)
    healthy = planned(desk(gpu("ada"), os=OperatingSystem(k("rhel"), k("10.0"), registration=k("none"))))
    assert "registration" not in ids(healthy)


def test_a_cloud_image_has_its_own_name_of_codeready_builder() -> None:
    found = _without("mi300x-8-rhel9-cluster-node", _CERTIFICATE, "/etc/yum.repos.d/redhat-rhui.repo")
    driver = step_of(found, "driver-amd")
    assert step_of(found, "registration").state == "done"
    assert "dnf config-manager --set-enabled codeready-builder-for-rhel-9-rhui-rpms" in commands(driver)
    assert not any("subscription-manager" in one for one in commands(driver))
    assert "repository codeready-builder-for-rhel-9-rhui-rpms" in driver.changes
    assert not any(one.endswith("x86_64-rpms") for one in driver.changes)


def test_where_the_clouds_name_of_codeready_builder_is_not_known_the_note_stands_alone() -> None:
    """Azure: to register a machine that is paid for by the hour is to pay twice, and Amazon's name is not its name."""
    found = _without("mi300x-8-rhel9-cluster-node", _CERTIFICATE, "/etc/yum.repos.d/rh-cloud.repo")
    driver = step_of(found, "driver-amd")
    assert step_of(found, "registration").state == "done"
    assert not any("codeready" in one or "subscription-manager" in one for one in (*commands(driver), *driver.changes))
    assert any("dnf repolist --all shows" in one for one in driver.notes)
    assert commands(driver)[-1] == "dnf install amdgpu-dkms"


def test_where_nobody_knows_the_plan_says_what_tells() -> None:
    gap = Unknown("this evidence does not hold it", "not-asked")
    bare = torch(None, "/usr/bin/python3", "3.9.21", environment="system")

    def notes(os: OperatingSystem) -> tuple[str, ...]:
        return planned(desk(gpu("xtx"), os=os, build=bare)).notes

    told = notes(OperatingSystem(k("rhel"), k("9.6"), k("RHEL 9.6"), registration=gap))
    assert any("sudo subscription-manager identity shows whether it is" in one for one in told)
    for name, version in (("ubuntu", "24.04"), ("rocky", "9.6")):
        assert not any("registered" in one for one in notes(OperatingSystem(k(name), k(version), registration=gap)))


def test_modules_of_sles_come_before_their_packages_and_stay() -> None:
    found = plan_in("mi210-8-sles15")
    driver = commands(step_of(found, "driver-amd"))
    modules = ["sle-module-desktop-applications", "sle-module-development-tools", "PackageHub"]
    assert driver[:3] == [f"SUSEConnect -p {one}/15.7/x86_64" for one in modules]
    assert "module PackageHub/15.7/x86_64" in step_of(found, "driver-amd").changes
    assert any("SLES modules enabled" in one for one in step_of(found, "driver-amd").notes)
    python = commands(step_of(found, "python-environment"))
    assert python[:2] == ["SUSEConnect -p sle-module-python3/15.7/x86_64", "zypper install python311"]
