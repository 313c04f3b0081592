"""What is looked for at certain words, or on lines that hold them, is found as in the whole text."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from rocdoctor.host.masking import paths, shown, signed
from rocdoctor.host.masking.rules import load_tables, sub_begun, sub_lines

NETRC = ("machine", "default", "login", "LOGIN", "account", "password", "x-login", "h", "\n", "\t", "=", "\u0130")
PROMPTS = ("$ hostname\n", "+ uname -n\n", "hostname\n", "a # whoami\n", "logname\n", "node7\n", "me", "Since: \n")
FILES = (
    "machine h\n",
    "login u ",
    "password x ",
    "default ",
    "[user]\n",
    "name = Ann B\n",
    "user: me\n",
    "orgs:",
    "\n",
)
DONE = ("fixed by ", "found by: ", "thanks to ", "Jane Doe", "J. Doe", "Author: ", "credits: ", " Smith\n", ", ", "\n")
HOMES = ("C:\\Users\\", "c:/users/", "\\\\host\\home\\", ".../home/", "s3://b/users/", "ann", "Ann Lee", "/", '"', "\n")


@given(st.lists(st.sampled_from(NETRC), max_size=30), st.sampled_from((" ", "\n", "")))
@example(["account", "h", "password", "h", "LOGIN", "h", "password", "h"], " ")
@example(["default", "login", "h", "account", "h", "machine", "h", "login", "h", "account", "h"], "\n")
def test_what_begins_a_match_tells_all_places_of_it(parts: list[str], between: str) -> None:
    text = between.join(parts)
    for rule in load_tables().secrets:
        if rule.begins:
            assert sub_begun(rule.pattern, lambda _: "#", text, rule.begins) == rule.pattern.sub("#", text)


@given(st.lists(st.sampled_from((*PROMPTS, *FILES)), max_size=20))
@example(["machine\th\n", "login u ", "password x ", "default ", "login u ", "password x "])
@example(["machine h\n", "login u ", "password x ", "\n", "default ", "login u ", "password x "])
@example(["$ hostname\n", "node7\n", "+ uname -n\n", "node7\n", "a # whoami\n", "me"])
@example(["user: me\n", "orgs:", "[user]\n", "name = Ann B\n"])
def test_an_answer_stands_below_a_line_with_its_word(parts: list[str]) -> None:
    text = "".join(parts)
    for _, _, first, pattern in shown._ANSWERED:
        whole = pattern.sub(lambda match: match["k"] + "#", text)
        assert shown._substituted(pattern, lambda _: "#", text, first) == whole


@given(st.lists(st.sampled_from(DONE), max_size=20))
@example(["found by: ", "Jane Doe", ", ", "fixed by ", "Jane Doe", "\n", "Author: ", "Jane Doe", "\n"])
def test_who_did_something_stands_on_a_line_with_its_word(parts: list[str]) -> None:
    text = "".join(parts)
    for pattern, words in ((signed._DONE_BY, signed._LINES_DONE), (signed._AUTHOR, signed._AUTHORS)):
        assert sub_lines(pattern, lambda _: "#", text, words) == pattern.sub("#", text)


@given(st.lists(st.sampled_from(HOMES), max_size=20))
def test_a_home_of_windows_stands_on_a_line_with_its_word(parts: list[str]) -> None:
    text = "".join(parts)
    assert sub_lines(paths._WINDOWS, lambda _: "#", text, paths._WINDOWS_WORDS) == paths._WINDOWS.sub("#", text)
