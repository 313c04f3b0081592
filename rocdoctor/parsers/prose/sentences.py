"""The sentences of a text as words: units beside their numbers, punctuation as words of its own, and who speaks.

No grammar of a language is known here. A word is what stands between blanks, in lower case and without the signs at
its ends; ``kinds`` name what a word is by its form: ``<w>`` watts, ``<c>`` degrees, ``<lib>`` a shared library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex

_MOST = 700  # sentences
_LONGEST = 120  # words of one
_GOES_ON = 16  # words of a line that begins with an error, from which on somebody goes on in it
_JOINED = 40  # characters: a shorter line was not wrapped where it ends like a sentence
_ENDS = ".!?:;"
_WORD = regex(
    r"[A-Za-z_$~/][\w$~./:+'@%*-]{0,120}|[<>]?[-+]?\d[\w.,:/+%°-]{0,60}|°[CcFf]?|--?[A-Za-z][\w-]{0,40}"
    r"|->|=>|\u2192|[=,;:()?!.\"\[\]{}&|#*>-]"
)
_END = regex(r"(?<=[.!?])[\"')\]]{0,2}\s{1,4}(?=[\"'(\[]{0,2}[A-Za-z0-9_/$~])|\s{0,4}\n\s{0,4}|\s[-*]{1,2}\s")
_NO_END = regex(r"(?i)(?:\b(?:e\.g|i\.e|etc|vs|ca|approx|resp|incl|no|nr|ver|v|fig|cf|mr|dr|st)\.|\.\.)\Z")
_SPELLED = {
    "w": "w watt watts",
    "c": "c \u00b0 \u00b0c degrees degree deg celsius",
    "gb": "gb gib g",
    "mb": "mb mib m",
    "tb": "tb",
    "gbs": "gb/s gib/s gb/sec",
    "mbs": "mb/s mib/s",
    "gbe": "gbps gbit/s gbit gbe",
    "mhz": "mhz",
    "ghz": "ghz",
    "gts": "gt/s",
    "rate": "tok/s t/s it/s img/s images/s samples/s tokens/s s/it fps tflops",
    "time": "seconds sec secs s min mins minutes minute h hours hour days day weeks week",
    "lanes": "lanes",
    "percent": "% percent",
    "times": "times",
    "cores": "cores threads cpus",
}
_UNITS = {one: unit for unit, spelled in _SPELLED.items() for one in spelled.split()}
_NUMBER = regex(r"[<>]?[-+]?(\d{1,9}(?:[.,]\d{1,9})?)([a-z°%/]{0,10})\Z")
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("<lib>", regex(r"(?:/\S{0,80}/)?lib[\w+-]{2,40}\.so[\w.]{0,20}\Z|[\w-]{2,40}\.dll\Z")),
    ("<gfx>", regex(r"gfx\d[\da-f]{2,4}\Z")),
    ("<node>", regex(r"/dev/(?:kfd|dri|nvidia|infiniband|dxg)[\w/*.-]{0,40}\Z|renderd\d{3}\Z|kfd\Z")),
    (
        "<nic>",
        regex(r"(?:en[spox]\w{1,12}|eth\d{1,2}|wl[apx]\w{1,10}|ib\w?\d{1,2}|bond\d{1,2}|br-?\w{1,12}|veth\w{1,12})\Z"),
    ),
    (
        "<virtual-nic>",
        regex(
            r"(?:docker\d{1,2}|virbr\d{1,2}|br-\w{1,12}|veth\w{1,12}|tailscale\d|cni\d|flannel[.\w]{0,6}|tun\d|wg\d)\Z"
        ),
    ),
    ("<loopback>", regex(r"127\.\d{1,3}\.\d{1,3}\.\d{1,3}\Z|localhost\Z|::1\Z")),
    ("<ip>", regex(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d{1,5})?\Z")),
    ("<lanes>", regex(r"x(?:1|2|4|8|16)\Z|(?:1|2|4|8|16)x\Z")),
    (
        "<version>",
        regex(
            r"v?\d{1,4}\.\d{1,4}(?:\.\w{1,12}){0,3}\Z|"
            r"(?:rocm|cuda|torch|kernel|python|linux)-?\d{1,2}\.\d{1,2}[\w.]{0,10}\Z"
        ),
    ),
    (
        "<card>",
        regex(
            r"(?:rx|rtx|gtx|hd|r9|r7|w|v|mi|a|h|b|l|t|k|p|m|gt)-?\d{2,4}[a-z]{0,5}\Z|"
            r"\d{4}(?:xtx?|gre|ti|m|s|hx?t?)\Z|\d{3}m\Z"
        ),
    ),
    ("<cuda-wheel>", regex(r"(?:\d[\w.]{0,10}\+)?cu1[1-3]\d\Z")),
    ("<cpu-wheel>", regex(r"\d[\w.]{0,12}\+cpu\Z|py3[\w.]{0,6}_cpu_\d\Z|cpuonly\Z")),
)
_VARIABLE = regex(r"[A-Z][A-Z0-9]{1,20}(?:_[A-Z0-9]{1,24}){1,8}\Z")
# Lines that programs print, and code: a person does not begin a sentence so.
_PRINTED = regex(
    r"\s{0,8}(?:[\w./-]{1,120}\.(?:py|cpp|cc|cu|hip|c|h|go|rs):\d|"
    r"(?:for|while|if|elif|def|class|import|from|return|echo|print|assert|case)\b.{0,300}(?:[:;{]|\bdo|\bthen)\s{0,4}\Z|"
    r"(?:FATAL|fatal|WARN|warn)\w{0,4}:)"
)
_RAISED = regex(r"\s{0,8}\w{1,40}(?:Error|Warning|Exception|Fault)\b:?")
_STRIPPED = ".,:;!?*'-"


@dataclass(frozen=True, slots=True)
class Word:
    """A word in lower case, what it is by its form, and the number in it."""

    text: str
    kinds: tuple[str, ...] = ()
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: the line (from 1) where it begins, its text, its words, and whether it is a question."""

    line: int
    text: str
    words: tuple[Word, ...]
    question: bool


def sentences_in(lines: Iterable[tuple[int, str]]) -> tuple[Sentence, ...]:
    """The sentences of numbered lines; lines that follow each other are read as one text."""
    found: list[Sentence] = []
    for block in _blocks(lines):
        found.extend(_split(block))
        if len(found) >= _MOST:
            break
    return tuple(found[:_MOST])


def _blocks(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    block: list[tuple[int, str]] = []
    for number, line in lines:
        if _PRINTED.match(line) or (_RAISED.match(line) and len(line.split()) < _GOES_ON):
            continue
        follows = block and number == block[-1][0] + 1 and line[:1].islower()
        follows = follows and (len(block[-1][1]) >= _JOINED or block[-1][1].rstrip()[-1:] not in _ENDS)
        if block and not follows:
            yield block
            block = []
        block.append((number, line))
    if block:
        yield block


def _split(block: Sequence[tuple[int, str]]) -> Iterator[Sentence]:
    text, starts = "", list[tuple[int, int]]()
    for number, line in block:
        starts.append((len(text), number))
        text += line.strip().replace("\u2019", "'") + " "
    begin = 0
    for end in [*(one.end() for one in _END.finditer(text) if not _NO_END.search(text[: one.start()][-8:])), len(text)]:
        part = text[begin:end].strip()
        if part:
            first = next(number for at, number in reversed(starts) if at <= begin)
            yield Sentence(first, part, words_in(part), part.rstrip("\"')] ").endswith("?"))
        begin = end


def words_in(sentence: str) -> tuple[Word, ...]:
    """The words of a sentence."""
    found: list[Word] = []
    for match in _WORD.finditer(sentence):
        raw = match[0]
        core = raw.rstrip(_STRIPPED) or raw
        found.append(_word(core))
        if core != raw and raw[len(core)] in ".,:;!?":
            found.append(Word(raw[len(core)]))
        if len(found) >= _LONGEST:
            break
    return tuple(_with_units(found))


def _word(raw: str) -> Word:
    text = raw.lower()
    kinds = [name for name, form in _FORMS if form.match(text)]
    if _VARIABLE.match(raw):
        kinds.append("<variable>")
    number = _NUMBER.match(text)
    if number is None:
        return Word(text, tuple(kinds))
    unit = _UNITS.get(number[2])
    return Word(text, (*kinds, *((f"<{unit}>",) if unit else ("<n>",))), float(number[1].replace(",", ".")))


def _with_units(found: Sequence[Word]) -> Iterator[Word]:
    """Numbers with the unit that stands behind them as one word."""
    at = 0
    while at < len(found):
        one = found[at]
        behind = found[at + 1].text if at + 1 < len(found) else ""
        unit = _UNITS.get(behind) if one.number is not None and one.kinds[-1:] == ("<n>",) else None
        if unit:
            yield Word(f"{one.text} {behind}", (*one.kinds[:-1], f"<{unit}>"), one.number)
            at += 2
        else:
            yield one
            at += 1
