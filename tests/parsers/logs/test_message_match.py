"""Error texts over line ends, quote marks and cut lines. All texts are constructed from the programs' formats."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.knowledge.lookup import cause
from rocdoctor.knowledge.messages.program_errors import message_kinds, message_signatures
from rocdoctor.parsers.logs.log_match import Signature, Wording, compiled, matcher
from rocdoctor.parsers.logs.message_match import find_messages

LONG = (
    "RuntimeError: The detected CUDA version (12.4) mismatches the version that was used to compile PyTorch (11.8). "
    "Please make sure to use the same CUDA versions."
)


def _kinds(text: str) -> list[tuple[str, int, str]]:
    return [(one.kind, one.line, one.role) for one in find_messages(message_signatures(), text)]


def test_a_text_is_found_however_its_lines_are_cut() -> None:
    at_blanks = (
        "first\n  RuntimeError: The detected CUDA version (12.4) mismatches\n  the version that was used to compile\n"
    )
    at_blanks += "  PyTorch (11.8).\n"
    at_width = "\n".join(LONG[start : start + 72] for start in range(0, len(LONG), 72))
    quoted = "\n".join("> " + line for line in at_blanks.splitlines())
    for text, line in ((at_blanks, 2), (at_width, 1), (quoted, 2)):
        (one,) = find_messages(message_signatures(), text)
        assert (one.kind, one.line, one.role) == ("toolkit-version-differs", line, "now")
        assert (one.values["toolkit"], one.values["torch"]) == ("12.4", "11.8")


def test_who_says_it_is_told_apart() -> None:
    assert _kinds("I have another question.\nAnd one more.\n> operator torchvision::nms does not exist\nThanks!") == [
        ("torchvision-operator-missing", 3, "quoted")
    ]
    assert _kinds('    raise AssertionError("Torch not compiled with CUDA enabled")')[0][2] == "advice"
    assert _kinds("If you see operator torchvision::nms does not exist, reinstall.")[0][2] == "advice"


def test_a_normal_log_holds_nothing() -> None:
    text = (
        "node:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.4<0>\n"
        "node:1:1 [0] NCCL INFO Channel 00/24 : 0 1 2 3\nstep 1 loss 2.1\n"
        "Requirement already satisfied: torch in /x (2.4.0)\nSetting OMP_NUM_THREADS environment variable\n"
        "Traceback (most recent call last):\n  File 'a.py', line 3, in main\nKeyError: 'labels'\n"
    )
    assert {kind for kind, _, _ in _kinds(text)} <= {"using-interface", "mentions-nccl", "said-traceback"}


def test_the_table_holds_together() -> None:
    kinds = message_kinds()
    assert len(kinds) == len(message_signatures().signatures)
    for one in kinds.values():
        assert one.means.endswith(".")
        assert one.cause is None or cause(one.cause) is not None
        assert one.confidence in ("certain", "likely", "possible")
    for signature in message_signatures().signatures:
        for wording in signature.wordings:
            assert wording.source, signature.kind
            assert wording.match is None or compiled(wording.match).pattern != "(?!)", signature.kind
            for literal in wording.find:
                # What begins or ends inside a word would never be met: the index looks at whole words.
                assert any(literal == entry[3] for entries in message_signatures().index.values() for entry in entries)


@given(st.text(max_size=400))
def test_any_text_never_raises(text: str) -> None:
    find_messages(message_signatures(), text)


@given(st.integers(0, len(LONG)), st.integers(1, 90))
def test_any_half_never_raises(end: int, width: int) -> None:
    cut = LONG[:end]
    find_messages(message_signatures(), "\n".join(cut[start : start + width] for start in range(0, len(cut), width)))


def test_an_excerpt_begins_where_a_broken_line_did() -> None:
    long = "2025-01-01 INFO backend: cannot start the TPU plugin here, because of this: fail to"
    broken = f"{long}\nlibtpu.so: cannot open shared object file: No such file\n{'x' * 84}\n"
    (found,) = [one for one in find_messages(message_signatures(), broken) if one.kind == "missing-library"]
    assert found.text.startswith("2025-01-01 INFO")
    whole = f"2025-01-01 INFO started\nlibtpu.so: cannot open shared object file: No such file\n{'x' * 84}\n"
    (found,) = [one for one in find_messages(message_signatures(), whole) if one.kind == "missing-library"]
    assert found.text.startswith("libtpu.so")


def test_a_cut_text_with_a_longer_line() -> None:
    lines = (
        "The run ended after an hour with what stands below, and it does so each time, wi\nth any size.\n"
        "RuntimeError: CUDA error: no kernel image is available for execution on the devi\nce\n"
    )
    longer = "\tlibhsa-runtime64.so.1 => /usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1 (0x00007f2b8a80)".expandtabs()
    for tail in ("", longer + "\n"):
        found = find_messages(message_signatures(), lines + tail)
        assert "no-kernel-image" in [one.kind for one in found]


def test_words_around_a_literal_stand_in_any_order() -> None:
    wording = Wording(("freezes",), near=(r"(?i)\bdock\b", r"second (?:card|GPU)"), never=(r"\bgame\b",))
    known = matcher([Signature("symptom", "note", "It.", (wording,))])
    both = "With the dock attached the machine freezes.\nThe second GPU is not used."
    assert [one.line for one in find_messages(known, both)] == [1]
    assert find_messages(known, "The second GPU is not used with the Dock:\nit freezes")
    assert not find_messages(known, "With the dock attached the machine freezes.")
    assert not find_messages(known, both + " Only in that game.")
    assert not find_messages(known, "The machine freezes." + " word" * 200 + " The second GPU, the dock.")


def test_words_of_people_are_found_in_any_case_and_messages_as_they_are_printed() -> None:
    said = Wording(("on battery",), match="(?i)only slow on battery", fold=True)
    printed = Wording(("Xid 79",))
    known = matcher([Signature("said", "note", "", (said,)), Signature("printed", "note", "", (printed,))])
    for text, kinds in (
        ("Only slow ON Battery", ["said"]),
        ("only slow on battery", ["said"]),
        ("xid 79", []),
        ("Xid 79", ["printed"]),
    ):
        assert [one.kind for one in find_messages(known, text)] == kinds


def test_tables_of_what_people_say_ask_for_any_case() -> None:
    folded = [one for one in message_signatures().signatures if one.wordings[0].fold]
    assert len(folded) > 100
    assert all(literal == literal.lower() for one in folded for wording in one.wordings for literal in wording.find)
