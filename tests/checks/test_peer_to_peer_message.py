"""Hanging collectives and the IOMMU. The texts are constructed: RCCL's warning, and words of people."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "peer-to-peer-message"


def test_the_warning_of_rccl() -> None:
    text = 'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!'
    found = finding_of(CHECK, text)
    assert found is not None and found.severity == "warning" and "iommu=pt" in words_of(found)
    assert (both := finding_of(CHECK, text + "\nand then all_reduce_perf hangs")) and both.severity == "error"


def test_words_about_a_hang_are_possible_only() -> None:
    found = finding_of(CHECK, "With 4 GPUs all_reduce_perf hangs forever; a single one works.")
    assert found is not None and found.severity == "warning" and found.confidence == "possible"
    assert "ACS" in found.message


def test_a_failed_sample() -> None:
    found = finding_of(CHECK, "Verification error @ element 1: val = 0.000000, ref = 4.000000 after P2P copy")
    assert found is not None and found.severity == "error"


def test_other_hangs_are_not_meant() -> None:
    assert states(judge(CHECK, pasted("my editor hangs when I open the notebook"))) == ["not-applicable"]


def test_what_torch_lists_as_possible_reasons_is_no_observation() -> None:
    text = (
        "[rank1]:[E ProcessGroupNCCL.cpp:1753] [PG ID 0 PG GUID 0(default_pg) Rank 1] Received a dump signal due to a "
        "collective timeout from rank 3. Last enqueued NCCL work: 40, last completed NCCL work: 40.This is most likely "
        "caused by incorrect usages of collectives, e.g., wrong sizes used across ranks. Additionally, this can be "
        "caused by GIL deadlock or other reasons such as network errors or bugs in the communications library."
    )
    assert finding_of("peer-to-peer-message", text) is None


def test_a_hang_between_machines_is_the_network_s() -> None:
    between = "nccl-tests hang between any pair of nodes of the two racks."
    assert finding_of(CHECK, between + " A single node works.") is None
    assert finding_of(CHECK, between) is not None


def test_a_request_names_no_fault() -> None:
    assert finding_of(CHECK, "It would be great if all_reduce_perf told which rank is missing when it hangs.") is None


def test_a_rare_collective_that_hangs_alone_is_no_matter_of_the_paths() -> None:
    text = "{} of rccl-tests with the 4 GPUs hangs."
    assert finding_of(CHECK, text.format("all_reduce_perf")) is not None
    assert finding_of(CHECK, text.format("alltoallv_perf")) is None
