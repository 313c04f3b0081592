"""The manual page of a piece of advice, for ``rocdoctor explain`` and for ``docs/advice.md``."""

from __future__ import annotations

from rocdoctor.knowledge.messages.advice import Advice

VERDICT_WORDS = {
    "false": "False",
    "stale": "Out of date",
    "harmful": "Harmful",
    "context-dependent": "Right in some places only",
    "true-but": "True, but not for that",
}
BASIS_WORDS = {
    "tested": "we ran it",
    "source-read": "read in the source",
    "derived": "follows from the code or by arithmetic",
    "general-knowledge": "general knowledge",
    "not-verified": "not verified",
}


def seen_in(one: Advice) -> str:
    """The kinds of files that a piece of advice is searched for in."""
    return " and ".join(words for side, words in (("python", "Python"), ("files", "other files")) if side in one.match)


def advice_page(one: Advice) -> str:
    """The manual page of a piece of advice."""
    sources = "\n".join(f"- {told}" for told in one.cited)
    return (
        f"Advice: {one.claim}\n\n{VERDICT_WORDS[one.verdict]} ({BASIS_WORDS[one.basis]}).\n\n"
        f"Why\n{one.truth}\n\nFix\n{one.remedy}\n\n"
        f"Looked for in {seen_in(one)}; at most a finding of severity {one.severity}.\n\nReferences\n{sources}"
    )
