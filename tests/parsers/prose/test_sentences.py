"""Sentences of people as words, with units and forms."""

from __future__ import annotations

from rocdoctor.parsers.prose.sentences import sentences_in, words_in


def _texts(text: str) -> list[tuple[int, str]]:
    return [(one.line, one.text) for one in sentences_in(enumerate(text.split("\n"), 1))]


def test_a_text_is_cut_at_the_ends_of_sentences() -> None:
    assert _texts("It hangs. With one card, e.g. the first, it runs! Why?") == [
        (1, "It hangs."),
        (1, "With one card, e.g. the first, it runs!"),
        (1, "Why?"),
    ]


def test_a_line_that_goes_on_in_lower_case_is_of_the_sentence_above() -> None:
    wrapped = (
        "The machine has two cards and when both of them\nare training it switches off. Only one runs\nThe end is near"
    )
    assert _texts(wrapped) == [
        (1, "The machine has two cards and when both of them are training it switches off."),
        (2, "Only one runs"),
        (3, "The end is near"),
    ]


def test_a_version_and_a_file_do_not_end_a_sentence() -> None:
    assert len(_texts("ROCm 6.2.4 wants libhipblas.so.2 and has none")) == 1


def test_a_question_is_one() -> None:
    first, second = sentences_in([(1, "Does it work? It does.")])
    assert first.question and not second.question


def test_what_a_program_prints_is_no_sentence() -> None:
    assert _texts("RuntimeError: HIP error: out of memory when the card is full") == []
    assert _texts("/usr/lib/python3/x.py:12: the option is not used and is ignored") == []
    assert _texts('for pattern in "GPU is lost" "the card fell off the bus"; do') == []


def test_numbers_have_units_beside_or_behind_them() -> None:
    kinds = {one.text: one.kinds for one in words_in("At 350W and 104 °C it draws 12 GB/s over x4 in 10 minutes")}
    assert kinds["350w"] == ("<w>",)
    assert kinds["104 °c"] == ("<c>",)
    assert kinds["12 gb/s"] == ("<gbs>",)
    assert kinds["x4"] == ("<lanes>",)
    assert kinds["10 minutes"] == ("<time>",)
    assert [one.number for one in words_in("350W and 0,5 GB")] == [350.0, None, 0.5]


def test_words_are_known_by_their_form() -> None:
    kinds = {
        one.text: one.kinds for one in words_in("libamdhip64.so.6 on gfx1100 (RX 7900XTX), docker0 127.0.1.1 /dev/kfd")
    }
    assert kinds["libamdhip64.so.6"] == ("<lib>",)
    assert kinds["gfx1100"] == ("<gfx>",)
    assert "<card>" in kinds["7900xtx"]
    assert kinds["docker0"] == ("<virtual-nic>",)
    assert "<loopback>" in kinds["127.0.1.1"]
    assert kinds["/dev/kfd"] == ("<node>",)


def test_a_name_in_capitals_with_underscores_is_a_variable() -> None:
    assert [one.text for one in words_in("set NCCL_P2P_DISABLE=1") if "<variable>" in one.kinds] == ["nccl_p2p_disable"]


def test_punctuation_stands_apart() -> None:
    assert [one.text for one in words_in('It works, "but" slowly: x.')] == [
        "it",
        "works",
        ",",
        '"',
        "but",
        '"',
        "slowly",
        ":",
        "x",
        ".",
    ]
