"""The key under Secure Boot: before the restart, only where a module is built here, done by a person."""

from __future__ import annotations

from tests.machines.files import Files, Program
from tests.repair.setup.kit import commands, ids, plan_in, states, step_of


def test_the_key_goes_in_between_the_driver_and_the_restart() -> None:
    found = plan_in("mi300x-8-ubuntu2404-secure-boot")
    order = [name for name in ids(found) if name in ("driver-amd", "secure-boot-key", "restart")]
    assert order == ["driver-amd", "secure-boot-key", "restart"]
    assert "before the restart" in step_of(found, "driver-amd").notes[0]
    key = step_of(found, "secure-boot-key")
    assert commands(key)[-1] == "mokutil --import /var/lib/shim-signed/mok/MOK.der"
    said = " ".join(key.notes)
    assert said.index("password") < said.index("console") < said.index("Enroll MOK, Continue and Yes")
    assert key.verify is not None and key.verify.line == "mokutil --test-key /var/lib/shim-signed/mok/MOK.der"
    assert [action.command for action in key.undo] == ["mokutil --delete /var/lib/shim-signed/mok/MOK.der"]
    assert (key.risk, key.effective) == ("reboots", "reboot")


def test_where_secure_boot_is_not_known_the_driver_says_what_would_tell() -> None:
    def closed(files: Files) -> None:
        files.refuse("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c")

    def old_firmware(files: Files) -> None:
        files.remove("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c")

    unknown = plan_in("mi300x-8-ubuntu2204-fresh", files=closed)
    assert any("mokutil --sb-state" in note for note in step_of(unknown, "driver-amd").notes)
    assert "secure-boot-key" not in ids(unknown)
    none = plan_in("mi300x-8-ubuntu2204-fresh", files=old_firmware)
    assert not any("Secure Boot" in note for note in step_of(none, "driver-amd").notes)


def test_other_distributions_keep_the_key_of_dkms() -> None:
    found = step_of(plan_in("xtx-rhel9-fresh", secure_boot=True), "secure-boot-key")
    assert commands(found)[-1] == "mokutil --import /var/lib/dkms/mok.pub"


def test_without_a_place_for_the_key_it_is_unknown() -> None:
    assert step_of(plan_in("mi210-8-sles15", secure_boot=True), "secure-boot-key").state == "unknown"


def test_no_key_without_secure_boot_or_for_the_kernels_own_driver() -> None:
    assert "secure-boot-key" not in ids(plan_in("xtx-ubuntu2204-fresh"))
    assert "secure-boot-key" not in ids(plan_in("xtx-ubuntu2404-fresh", secure_boot=True))
    assert "secure-boot-key" not in ids(plan_in("xtx-debian12-fresh", secure_boot=True))  # modprobe is enough


def test_a_packaged_driver_that_runs_under_secure_boot_has_its_key() -> None:
    found = step_of(plan_in("mi300x-8-ubuntu2404-done", secure_boot=True), "secure-boot-key")
    assert found.state == "done"
    assert "Secure Boot is on" in [one.value for one in found.evidence]


def test_a_refused_module_asks_for_the_key_and_the_driver_waits() -> None:
    def refused(files: Files) -> None:
        lines = [
            "[    0.000000] Linux version 6.14.0-29-generic (builder@host) #29 SMP",
            "[    2.5] Loading of module with unavailable key is rejected",
        ]
        files.programs["run dmesg"] = Program("\n".join(lines))

    found = plan_in("xtx-ubuntu2404-fresh", files=refused, driver=False, secure_boot=True)
    assert states(found)["secure-boot-key"] == "todo"
    assert states(found)["driver-amd"] == "waiting"
    assert ids(found).index("secure-boot-key") < ids(found).index("driver-amd")
