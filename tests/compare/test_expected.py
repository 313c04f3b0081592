from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.compare.expected import read_expected
from rocdoctor.model.evidence import Known, Unknown

HEAD = "schema: rocdoctor.profile/1\n"


def _problems(text: str) -> list[tuple[int | None, str]]:
    expected, problem = read_expected(HEAD + text, "p.yaml")
    assert problem == ""
    return [(one.source.line, one.value) for one in expected.problems]


def test_what_a_profile_says_has_its_line_as_source() -> None:
    expected, _ = read_expected(HEAD + "gpus:\n  - name: MI210\nversions:\n  packages: {trl: 0.24.0}\n", "p.yaml")
    assert isinstance(expected.gpus, Known)
    assert expected.gpus.value[0]["name"].value == "MI210"
    assert str(expected.gpus.value[0]["name"].source) == "profile p.yaml:3"
    assert str(expected.packages["trl"].source) == "profile p.yaml:5"
    assert expected.problems == ()


def test_no_list_of_gpus_is_not_a_machine_without_any() -> None:
    assert isinstance(read_expected(HEAD, "p")[0].gpus, Unknown)
    none = read_expected(HEAD + "gpus: []\n", "p")[0].gpus
    assert isinstance(none, Known)
    assert none.value == ()


def test_lines_that_make_no_sense_are_problems_and_the_rest_counts() -> None:
    assert _problems("gpus:\n  - bdff: 1\n    memory_bytes: many\n  - words\n") == [
        (3, "'bdff' is nothing that a profile says there"),
        (4, "'memory_bytes' is not a number: many"),
        (5, "a GPU is a mapping of its traits"),
    ]
    assert _problems("versions: {torch: 1, torch: 2, kernel: ''}\n") == [
        (2, "'torch' appears twice; the first one counts"),
        (2, "'kernel' has no value"),
    ]
    assert _problems("setings: {iommu: x}\n") == [(2, "'setings' is not part of a profile")]
    assert _problems("host: {torch: '2.9'}\n") == [(2, "'torch' is nothing that a profile says there")]
    assert _problems("plan: {anything: [1, {goes: 2}]}\n") == []
    assert len(_problems("".join(f"k{n}: 1\n" for n in range(99)))) == 21


@given(st.text())
def test_any_text_goes_through(text: str) -> None:
    read_expected(HEAD + text, "p")
