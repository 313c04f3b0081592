"""Texts that are looked at together beforehand become what they become one by one."""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_lowercase

import pytest

from rocdoctor.host.masking.masker import Masker
from rocdoctor.host.masking.name_places import BESIDE_HOSTS, HOST_PLACES

QUIET = [f"Ring {one}{two} timeout on GPU, see /sys/class" for one in ascii_lowercase[:12] for two in ascii_lowercase]
TELLING = (
    "GPU is busy because of zeusbox17",
    "GPU is busy because of titanbox18",
    "Failed as password=Zq7mK2vTx9 was refused",
    "Nov 23 06:11:22 zeusbox17 systemd[1]: Started Session 5 of user dora_k.",
    "0123456789abcdef0123456789abcdef",
    "Node 0x5a17c0ffee123456 is gone",
    "GPU-5a17c0ff-1234-1234-1234-5a17c0ffee12",
    "Key:\n  password: Zq7mK2vTx9",
)


def test_texts_that_were_looked_at_together_are_masked_as_ever() -> None:
    plain, foreseeing = Masker(), Masker()
    for masker in (plain, foreseeing):
        masker.hear("Nov 23 06:11:22 titanbox18 systemd[1]: Started Session 5 of user dora_k.")
    texts = [*QUIET, *TELLING, *QUIET, *TELLING]
    foreseeing.foresee(texts)
    assert [foreseeing.mask_text(one) for one in texts] == [plain.mask_text(one) for one in texts]
    assert [one for one in TELLING[:2] if foreseeing.mask_text(one)[-7:-1] != " host-"] == []


def test_what_was_looked_at_beforehand_is_not_masked_by_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    masker = Masker()
    masker.foresee(QUIET)
    rules: Callable[[str, str], str] = masker._masked

    def noted(text: str, question: str) -> str:
        asked.append(text)
        return rules(text, question)

    monkeypatch.setattr(masker, "_masked", noted)
    assert [masker.mask_text(one) for one in (*QUIET, TELLING[2])] == [
        *QUIET,
        "Failed as password=masked-value was refused",
    ]
    assert asked == [TELLING[2]]


HOSTS = (
    "Hostname set to <zeusbox17>",
    'name="HostName" value="zeusbox17"',
    "Linux zeusbox17 6.1.0-18-amd64 #1",
    "export MASTER_ADDR=zeusbox17",
    "SLURM_JOB_NODELIST=zeusbox17",
    "--rdzv_endpoint=zeusbox17:29500",
    "connecting to [zeusbox17]:29500",
    "Nov 23 06:11:22 zeusbox17 kernel: up",
    "at ip-10-1-2-3.ec2",
    "at zeus17.a.cluster.local now",
    "at zeus17.a.internal now",
)


@pytest.mark.parametrize(("word", "pattern"), [one for one in HOST_PLACES if one[0] not in BESIDE_HOSTS])
def test_the_word_of_a_place_stands_in_the_line_of_the_host(word: str, pattern: object) -> None:
    search = getattr(pattern, "search")  # noqa: B009
    found = [line for line in HOSTS if search(line)]
    assert found
    assert [line for line in found if word not in line.lower()] == []
    cut = [line[:at] + line[at + len(word) :] for line in found if (at := line.lower().find(word)) >= 0]
    assert [line for line in cut if search(line)] == []


def test_a_word_of_another_line_tells_of_a_host() -> None:
    said = Masker().mask_text("NCCL INFO begins\nzeusbox17:123:456 [0] ends")
    assert "zeusbox17" not in said
