"""Fatal NVSwitch errors in the fabric manager's log; the lines are constructed from its format."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted

CHECK = "nvswitch-message"
_FATAL = (
    "[Jul 03 2025 07:53:55] [ERROR] [tid 77] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id "
    "00000000:86:00.0 physical id 3 port 33"
)


def test_a_fatal_error_names_its_number() -> None:
    found = finding_of(CHECK, _FATAL)
    assert found is not None and (found.severity, found.cause) == ("error", "gpu-hardware-fault")
    assert "SXid 20034" in found.message


def test_a_non_fatal_one_is_nobodys_fault() -> None:
    assert states(judge(CHECK, pasted(_FATAL.replace("fatal error", "non-fatal error")))) == ["not-applicable"]
