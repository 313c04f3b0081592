"""Failed memory registration. The texts are constructed from the formats of UCX and NCCL."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import User
from tests.kit import judge, k, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "memlock-message"
UCX = "ib_md.c:309  UCX  ERROR ibv_reg_mr(address=0x7f00, length=4096, access=0xf) failed: Cannot allocate memory"


def test_the_limit_is_named() -> None:
    found = finding_of(CHECK, UCX, user=replace(User(), memlock_bytes=k(65536)))
    assert found is not None and "64 KiB" in found.message and "ulimit -l unlimited" in words_of(found)
    assert "memlock" in words_of(
        finding_of(CHECK, "NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory")
    )


def test_an_unlimited_process_is_not_accused() -> None:
    of = pasted(UCX, user=replace(User(), memlock_bytes=k(None)))
    assert states(judge(CHECK, of)) == ["pass"]


def test_silence() -> None:
    text = "max locked memory       (kbytes, -l) unlimited\nopen files (-n) 1024"
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]
