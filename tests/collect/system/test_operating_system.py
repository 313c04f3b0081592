"""Distribution, product, laptop, virtual machine; the texts are constructed."""

from __future__ import annotations

from rocdoctor.collect.system.operating_system import collect_laptop, collect_os, collect_virtual_machine
from rocdoctor.model.evidence import Known, Unknown
from tests.collect.hosts import excerpt, whole

_DMI = "read /sys/class/dmi/id"
_METAL = {"read /proc/cpuinfo": "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu lm sse2\n"}
_GUEST = {"read /proc/cpuinfo": "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu lm hypervisor\n"}


def test_the_distribution_with_its_line() -> None:
    system = collect_os(
        excerpt({"read /usr/lib/os-release": 'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="24.04"\nID_LIKE=debian\n'})
    )
    assert isinstance(system.id, Known) and system.id.value == "ubuntu"
    assert str(system.id.source) == "read /usr/lib/os-release:2"
    assert isinstance(system.version_id, Known) and system.version_id.value == "24.04"
    assert isinstance(system.id_like, Known) and system.id_like.value == "debian"
    assert isinstance(system.pretty_name, Unknown)
    assert isinstance(collect_os(excerpt({})).id, Unknown)


def test_the_registration_by_what_it_leaves() -> None:
    """Rebuilds of RHEL need none, so nobody asks; what cannot be looked into is unknown, never "not registered"."""
    certificate, rhui = "list /etc/pki/consumer/cert.pem", "list /etc/yum.repos.d/*rhui*.repo"
    azure = "list /etc/yum.repos.d/rh-cloud*.repo"

    def of(name: str, answers: dict[str, str]) -> object:
        fact = collect_os(excerpt({"read /etc/os-release": f"ID={name}\nVERSION_ID=9.6\n", **answers})).registration
        return fact.value if isinstance(fact, Known) else fact.reason

    assert of("rhel", {certificate: "/etc/pki/consumer/cert.pem"}) == "vendor"
    assert of("rhel", {certificate: "", rhui: "/etc/yum.repos.d/redhat-rhui.repo"}) == "cloud"
    assert of("rhel", {certificate: "", rhui: "", azure: "/etc/yum.repos.d/rh-cloud.repo"}) == "other-cloud"
    assert of("rhel", {certificate: "", rhui: "", azure: ""}) == "none"
    assert (
        of("rhel", {certificate: "", rhui: ""})
        == of("rhel", {rhui: ""})
        == of("rhel", {})
        == of("rocky", {certificate: ""})
        == "not-asked"
    )
    assert of("sles", {"list /etc/zypp/credentials.d/SCCcredentials": ""}) == "none"


def test_laptops_by_chassis_or_battery() -> None:
    battery = {"list /sys/class/power_supply/*": "/sys/class/power_supply/BAT0"}
    mouse = {"list /sys/class/power_supply/*": "/sys/class/power_supply/hidpp_battery_0"}
    for texts, expected in (
        ({f"{_DMI}/chassis_type": "10"}, True),
        ({f"{_DMI}/chassis_type": "3"}, False),
        ({f"{_DMI}/chassis_type": "3"} | mouse, False),
        ({f"{_DMI}/chassis_type": "2"} | battery, True),
        (battery, True),
    ):
        fact = collect_laptop(whole(texts))
        assert isinstance(fact, Known) and fact.value is expected, texts
    for texts in ({}, {f"{_DMI}/chassis_type": "2"}):
        assert isinstance(collect_laptop(whole(texts)), Unknown), texts


def test_virtual_machines() -> None:
    kvm = {f"{_DMI}/sys_vendor": "QEMU"}
    for texts, expected in (
        (_METAL, None),
        (_GUEST, "unknown hypervisor"),
        (_GUEST | kvm, "qemu"),
        (_GUEST | {"read /sys/hypervisor/type": "xen"}, "xen"),
        (_METAL | {f"{_DMI}/sys_vendor": "Amazon EC2", f"{_DMI}/product_name": "p5.metal"}, None),
        (_METAL | {f"{_DMI}/sys_vendor": "Amazon EC2", f"{_DMI}/product_name": "ProLiant"}, None),
    ):
        fact = collect_virtual_machine(whole(texts))
        assert isinstance(fact, Known) and fact.value == expected, texts
    assert isinstance(collect_virtual_machine(excerpt({})), Unknown)
    arm = {"read /proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\n"}
    assert isinstance(collect_virtual_machine(whole(arm)), Unknown)  # there the flags do not tell
