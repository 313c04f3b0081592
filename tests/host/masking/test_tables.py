"""The tables of masking prove themselves: each example is masked, what must stay stays, their page is up to date."""

from __future__ import annotations

import pytest

from rocdoctor.host.masking import word_lookup
from rocdoctor.host.masking.masker import Masker
from rocdoctor.host.masking.rules import example, load_tables
from rocdoctor.knowledge.load import load_table
from tests.examples import rows
from tools.docs.privacy import example_masker

RULES = [(rule.token, text) for rule in load_tables().secrets for text in rule.examples]


@rows(("token", "text"), RULES)
def test_each_example_of_a_rule_is_masked_as_the_page_says(token: str, text: str) -> None:
    filled, secrets = example(text)
    masked = Masker().mask_text(filled)
    assert token in masked
    assert not [secret for secret in secrets if secret in masked]
    assert Masker().mask_text(masked) == masked


@rows("text", [one for rule in load_tables().commands for one in rule.examples])
def test_each_program_that_takes_a_secret_is_told_by_its_examples(text: str) -> None:
    filled, secrets = example(text)
    masked = Masker().mask_text(filled)
    assert secrets
    assert not [secret for secret in secrets if secret in masked]
    assert Masker().mask_text(masked) == masked


def test_each_match_in_an_example_begins_as_the_rule_says() -> None:
    rules = [rule for rule in load_tables().secrets if rule.begins]
    assert len(rules) > 1
    for rule in rules:
        for text in rule.examples:
            match = rule.pattern.search(example(text)[0])
            assert match is not None
            assert match.group().lower().startswith(rule.begins)


def test_each_program_has_a_source_and_a_day() -> None:
    table = load_table("masking")
    for one in (*table["commands"], *table["prints"]):
        assert one["source"] and len(str(one["day"])) == 10
        assert one.get("verified", False) is False, "only what was not read in a manual is marked"


@pytest.mark.parametrize("text", load_tables().name_examples)
def test_each_example_of_a_telling_name_is_masked(text: str) -> None:
    filled, secrets = example(text)
    assert secrets
    masked = Masker().mask_text(filled)
    assert not [secret for secret in secrets if secret in masked]


@pytest.mark.parametrize("one", load_table("masking")["identities"], ids=lambda one: str(one["class"]))
def test_each_identity_is_replaced_and_counted(one: dict[str, str]) -> None:
    masker = example_masker()
    assert one["original"] not in masker.mask_text(one["example"])
    assert masker.counts()


@rows("text", load_table("masking")["kept"])
def test_what_a_diagnosis_needs_stays(text: str) -> None:
    masker = example_masker()
    assert masker.mask_text(text) == text
    assert masker.mask_text(f"password=Zq7mK2vTx9\n{text}\nssh alice@alice-box") == (
        f"password=masked-value\n{text}\nssh user-1@host-1"
    )


def test_there_are_enough_of_them() -> None:
    assert len(RULES) >= 100
    assert len(load_table("masking")["kept"]) >= 60


def test_a_word_is_found_wherever_it_stands_in_a_long_line() -> None:
    tables = load_tables()
    words = [*tables.literals, *tables.places_of, *tables.commands_of]
    assert max(map(len, words)) < word_lookup._OVERLAP
    for at in range(word_lookup._PIECE - 40, word_lookup._PIECE + 40):
        assert {"config set", "hf_"} <= tables.words_in("x" * at + "config set" + "y" * 2000 + "hf_" + "z" * at)
    assert not {"config set", "hf_"} & tables.words_in("config se" + "x" * 3000 + "hf-")


@pytest.mark.parametrize("piece", ["key=", "://a:", "Aa0/x.", "token: "])
def test_of_a_line_that_repeats_itself_few_pieces_are_looked_at(piece: str) -> None:
    assert len(word_lookup.different(piece * 100_000)) < 10_000
