"""What a pasted text says in all, for a comparison with other reports."""

from __future__ import annotations

from rocdoctor.host.base import Host
from rocdoctor.model.facts import Told
from rocdoctor.model.lazy_re import regex

_LINES = 2000
_REST = regex(r"\s{0,3}(?:[A-Za-z',.!?()-]{1,30}\s{0,3}){0,3}")  # an address, thanks, or the end of a sentence


def collect_told(host: Host) -> Told:
    """The words and sentences of a pasted text; none of other hosts."""
    if host.kind != "text":
        return Told()
    from rocdoctor.parsers.own.speakers import parse_voices  # for texts alone
    from rocdoctor.parsers.own.told_words import parse_sentence_lines, parse_sentences, word_counts

    available = host.available()
    text = host.ask("text")
    voices = parse_voices(host.ask("voices").text) if "voices" in available else ()
    aside = {
        at
        for one in voices
        if one.question == "text" and one.voice in ("advice", "reply")
        for at in range(one.first, min(one.last, _LINES) + 1)
    }
    lines = enumerate(text.text[:400_000].split("\n", _LINES)[:_LINES], 1)
    own = [(at, line) for at, line in lines if line and at not in aside]
    rows = host.ask("sentences").text if "sentences" in available else ""
    in_words = {at for at, _ in parse_sentence_lines(rows)}
    alone = bool(in_words) and all(at in in_words or _REST.fullmatch(line) for at, line in own)
    return Told(word_counts(own), parse_sentences(rows), alone)
