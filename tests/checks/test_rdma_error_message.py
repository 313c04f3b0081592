"""RDMA transfers that failed. The texts are the format strings of NCCL and RCCL, filled in."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "rdma-error-message"


def test_no_answer_from_the_peer() -> None:
    text = "NCCL WARN NET/IB : Got completion from peer 10.1.0.4<40101> with error 12, opcode 0, len 0, vendor err 129"
    found = finding_of(CHECK, text)
    assert found is not None and (found.severity, found.confidence) == ("warning", "likely")
    assert found.cause == "network-interface-wrong"
    assert "10.1.0.4" in found.message and "retry exceeded" in found.message and "NCCL_IB_HCA" in words_of(found)


def test_a_flushed_request_only_follows() -> None:
    text = "NCCL WARN NET/IB: Got completion from peer 10.1.0.4<1> with status=IBV_WC_WR_FLUSH_ERR(5) opcode=SEND(0)"
    found = finding_of(CHECK, text)
    assert found is not None and found.confidence == "possible" and "status 5" in found.message


def test_adapters_of_unlike_kinds_and_an_event() -> None:
    text = (
        "NCCL WARN NET/IB : Remote RoCE device is incompatible with the local [0]mlx5_0:1/IB. Try selecting NICs of "
        "only one link type using NCCL_IB_HCA"
    )
    found = finding_of(CHECK, text)
    assert found is not None and (found.severity, found.confidence) == ("error", "certain")
    event = finding_of(CHECK, "NCCL WARN NET/IB : mlx5_2:1 async fatal event: local catastrophic error")
    assert event is not None and "mlx5_2" in event.message


def test_information_is_silent() -> None:
    text = "NCCL INFO NET/IB : No device found.\nNCCL INFO NET/IB : mlx5_0:1 Got non-fatal async event: port active(9)"
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]
