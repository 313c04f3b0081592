"""Graphics cards and gfx targets that a text names in its sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from rocdoctor.host.masking.any_digits import any_digit
from rocdoctor.knowledge.gpus.cards_without_profile import older_card
from rocdoctor.knowledge.lookup import gfx_target, profiles_by_name
from rocdoctor.model.lazy_re import compiled, regex
from rocdoctor.parsers.formats.alike_lines import alike
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.passage_roles import Role, role_of_block, role_of_card, sentence_around
from rocdoctor.paste.past_cards import fate_or_age
from rocdoctor.paste.word_index import WordIndex, ascending

_AMD = (
    r"(?:AMD[ /]{1,2})?(?:ATI )?(?:Radeon(?:\(TM\))?[ _-])?(?:"
    r"RX[ _-]?(?:Vega[ -]?(?:56|64)|\d{3,4})(?:[ _-]?(?:XTXH?|XT|GRE|LE))?(?:M|S)?(?![\d])|"
    r"R[579][ -](?:\d{3}X?|Fury(?: ?X)?|Nano)|HD ?\d{4}|Vega (?:FE|Frontier(?: Edition)?|56|64|10|20|8|11|"
    r"3|6|7)"
    r"|(?:AI )?PRO (?:WX|W|V|R|SSG|Duo)[ -]?\d{0,4}\w{0,2}|VII|\d{3}M|80[456]0S|Vega Graphics)"
    r"|(?:AMD )?(?:Instinct[ _-])?MI-?(?:6|8|25|50|60|100|200|210|250X?|300[AX]?|308X|325X|350X|355X)"
    r"|(?:AMD )?W[5-7][5-9]00X?|(?:AMD )?R9[67]00|(?:AMD )?FirePro [A-Z]\d{4}"
    r"|(?:5[3-7]00|6[4-9][05]0|7[6-9]00|90[67]0)[ _-]?(?:XTX|XT|GRE)"
    r"|AMD (?:Raven|Picasso|Renoir|Cezanne|Lucienne|Barcelo|Rembrandt|Phoenix|Hawk Point|Raphael|"
    r"Strix(?: Halo| Point)?|Navi ?\d\d|Vega ?\d\d|Polaris ?\d\d|Ellesmere|Fiji|Tonga|Hawaii)|Strix Halo|"
    r"Radeon (?:VII|Vega (?:\d{1,2} )?Graphics)"
)
_NVIDIA = (
    r"(?:NVIDIA )?(?:GeForce )?(?:GTX|RTX|GT|MX)[ _-]?(?:PRO )?A?\d{3,4}(?:MX?(?![A-Za-z]))?(?:[ -]?Ti)?(?:[ -]?SUPER)"
    r"?(?:[ -]?(?:Ada(?: Generation)?|Blackwell))?"
    r"|(?:NVIDIA )?GeForce \d{3}[AM]X?|NVIDIA \d{3}MX?"
    r"|(?:NVIDIA )?(?:(?:GeForce )?GTX )?TITAN (?:RTX|Xp|X|V|Black)|(?:NVIDIA )?Quadro (?:RTX |GV|GP|[PKMT])?\d{3,4}M?"
    r"|(?:NVIDIA )?(?:Tesla )?(?:A100|A800|H100|H200|H800|GH200|GB200|GB300|B100|B200|B300|L40S|V100S?|"
    r"P100)(?:[ -](?:SXM\d?|PCIe|NVL|DGXS|HGX))?(?:[ -]\d{2,3} ?GB)?"
    r"|(?:Tesla|NVIDIA) (?:[AHLBVPKMT]\d{1,4}[a-z]?)(?:[ -](?:SXM\d?|PCIe))?(?:[ -]\d{2,3} ?GB)?"
    r"|(?:10[5678]0|20[678]0|30[5-9]0|40[678]0|50[678]0|16[56]0) ?(?:Ti|SUPER)(?: ?SUPER)?"
    r"|(?<=GPU )(?:3090|4090|5090|3080|4080|5080|2080|1080|3060|4060|3070|4070|5070)|(?<=GPU: )(?:3090|"
    r"4090|5090|3080|4080|5080|2080|1080|3060|4060|3070|4070|5070)"
    r"|(?<=[Mm]y )(?:3090|4090|5090|3080|4080|5080|2080|1080|3060|4060|3070|4070|5070)\b(?! ?\w?i?B\b)"
    r"|(?<=\d )(?:M40|M60|K80|P40|A40|A30|A10G?(?!-\d{4})|L40|L4|T4|P4|A6000)|(?<=\d x )(?:M40|M60|K80|P40|A40|A30|"
    r"A10G?(?!-\d{4})|L40|L4|T4|P4|A6000)|(?<=\dx )(?:M40|M60|K80|P40|A40|A30|A10G?(?!-\d{4})|L40|L4|T4|P4|A6000)"
)
_CARD = regex(
    rf"(?<![\w./\\=-])(?P<amd>{_AMD})(?![\w/\\])|(?<![\w./\\=-])(?P<nvidia>{_NVIDIA})(?![\w/\\])|(?<![\w-])"
    rf"(?P<intel>(?:Intel )?Arc (?:Pro )?[AB]\d{{2,3}}M?)\b",
    re.IGNORECASE,
)
_GFX = regex(
    r"(?<![A-Za-z0-9_./=;,-])(?:amdgcn-amd-amdhsa--)?(gfx[0-9]{3,4}[0-9a-f]?)(?::[a-z+:-]{1,40})"
    r"?(?![\w;/.-]{0,255}(?:\.hsaco|\.dat|\.co\b))(?![A-Za-z0-9_])(?!;\s?gfx)",
    re.IGNORECASE,
)
# What a line must hold to be looked at closely: words (in lower case), or letters and digits of a part's number.
_WORDS_OF_CARDS = (
    "gfx",
    "radeon",
    "rx ",
    "rx-",
    "rx4",
    "rx5",
    "rx6",
    "rx7",
    "rx9",
    "vega",
    "instinct",
    "tesla",
    "quadro",
    "titan",
    "gtx",
    "rtx",
    "geforce",
    "nvidia",
    "amd ",
    "mi1",
    "mi2",
    "mi3",
    "mi5",
    "mi6",
    "mi8",
    "mi-",
    "arc ",
    "strix",
    "firepro",
    "r9 ",
    "r7 ",
    "r5 ",
    "r9-",
    "0 xt",
    "0 ti",
    "0ti",
    "0 gre",
    "0xt",
    "0 super",
    "gpu ",
    "gpu:",
    "my ",
)
# One set of letters in front: the search steps over everything else.
_NUMBERS = regex(
    r"[ABGHKLMPRTVW](?:(?<=[ABHPV])[1-8]00|(?<=G)[BH]\d00|(?<=L)40|(?<=[KMPT])\d{1,2}(?![\d:])|(?<=W)[5-7]\d00"
    r"|(?<=R)9[67]00|(?<=A)[1-6]\d(?!\d))"
)
# The same with all digits equal.
_ANY_NUMBER = regex(r"[ABHPV]000|G[BH]000|L00|[KMPT]00?(?![0:])|[RW]0000|A00(?!0)")
# Lists of targets, options of compilers and names of files say what was built, not what is in the machine.
_BUILD = regex(
    r"offload-arch|(?:AMDGPU|GPU|HIP)_(?:TARGETS|ARCH\w*)|ROCM_ARCH|CUDA_ARCH|AMDGPU_TARGET|-march=|"
    r"arch_list|TensileLibrary|\.hsaco|\.whl|github\.com/\S{1,200}(?:gfx)|https?://\S{0,200}gfx|"
    r"supported (?:gpu|arch|target)|\bprogram ISA\b",
    re.IGNORECASE,
)
# Numbers and names that count as AMD's only where AMD is named: "512M" is a size, "GT 750M" and "HD 4600" are others'.
_BARE = regex(r"(?:\d{3}M|VII|HD ?\d{4}|R[579][ -](?:\d{3}X?|Nano)|W\d{4}X?|MI-?[68]|Vega [3678])\Z", re.IGNORECASE)
_BARE_MOBILE = regex(r"\d{3}M\Z", re.IGNORECASE)
_OTHERS_WORD = regex(
    r"\b(?:NVIDIA|GeForce|GTX?|GTS|RTX|MX|FX|NVS|Quadro|Tesla|Titan|Intel(?:\(R\))?|UHD|Iris)[ _/-]{0,2}\Z",
    re.IGNORECASE,
)
_OTHERS_LINE = regex(r"(?<![a-z])(?:NVIDIA|GeForce|GTX|RTX|Quadro|Tesla|CUDA|Intel HD|UHD|Iris)", re.IGNORECASE)
_AMD_WORDS = ("radeon", "amd", "ryzen", "gfx", "rocm", "hip", "igpu", "apu", "firepro", "rdna", "instinct")
_AMD_LINE = regex(r"(?<![a-z])(?:Radeon|AMD|Ryzen|gfx\d|ROCm|iGPU|APU|ATI|FirePro)(?![a-z])", re.IGNORECASE)
_NOT_ONE = regex(r"[ _-]{0,2}\(?(?:laptop|mobile|max-?q|notebook)", re.IGNORECASE)
_COUNT = regex(
    r"(?:(?<![\w.])(\d{1,2}) ?[x×*]? ?|\b(two|three|four|eight|dual|both) )(?:AMD |NVIDIA |of the |GeForce )?\Z",
    re.IGNORECASE,
)
_COUNT_AFTER = regex(r"\s?(?:[x×*] ?(\d{1,2})\b|\((\d{1,2}) ?(?:x|gpus|cards)\))", re.IGNORECASE)
_GPUS = regex(
    r"\b(\d{1,2})[- ](?:gpus?|cards?|devices)\b|\b(two|three|four|eight|dual)[- ](?:identical |equal )"
    r"?(?:gpus?|cards?)\b",
    re.IGNORECASE,
)
_WORDS = {"two": 2, "dual": 2, "both": 2, "three": 3, "four": 4, "eight": 8}
_CPU_LINE = regex(r"\b(?:CPU|Processor|Ryzen|EPYC|Athlon|Core i\d|Xeon|APU)\b", re.IGNORECASE)
_MOST = 1000
_CAPABILITY = regex(r"\bwith CUDA capability sm_(\d{2,3})\b")


@dataclass(frozen=True, slots=True)
class Card:
    """A mention of a GPU. ``gfx`` and ``capability`` where the name or the text tells; ``profile`` the part's id."""

    line: int  # index
    vendor: str
    name: str | None
    gfx: str | None
    capability: str | None
    count: int
    role: Role
    integrated: bool | None = None
    key: str = ""  # what tells two parts apart
    fate: str | None = None  # of ``former.fate``, or "old" for a card that is called so


def cards(clean: Clean, taken: set[int], index: WordIndex) -> list[Card]:
    """Every mention outside of recognised outputs (``taken``: their lines)."""
    found: list[Card] = []
    like: dict[int, bool] = {}  # by the first line of a shape: whether a line of it may name a card
    numbers = (at for at in clean.alike.where(_ANY_NUMBER.search) if _NUMBERS.search(clean.lines[at]))
    amd = next(index.lines(_AMD_WORDS), None) is not None
    for at in ascending(index.lines(_WORDS_OF_CARDS), numbers):
        if at in taken:
            continue
        line = clean.lines[at]
        if len(line) > 2000:
            continue
        first = clean.alike.first[at]
        if first not in like:
            like[first] = like_a_card(alike(line))
        if like[first]:
            found += _of_line(clean, at, line, amd)
        if len(found) > _MOST:
            break
    return found


def like_a_card(shape: str) -> bool:
    """Whether a line of this shape, whose digits are 0, may name a card or a target."""
    return _any_card().search(shape) is not None or _GFX.search(shape) is not None


@lru_cache(maxsize=1)
def _any_card() -> re.Pattern[str]:
    return compiled(any_digit(_CARD.pattern), re.IGNORECASE)


def _of_line(clean: Clean, at: int, line: str, amd: bool) -> Iterator[Card]:
    named = [one for one in _CARD.finditer(line) if one.lastgroup != "amd" or _means_amd(one, line, amd)]
    targets = [match for match in _GFX.finditer(line) if gfx_target(match[1]) is not None]
    if not named and not targets:
        return
    # A list of what something supports or was built for says nothing of the machine; "RX 6800M (gfx1031)" does.
    if len({match[1].lower() for match in targets}) > 2 or _BUILD.search(line):
        ends = {match.end() for match in named}
        targets = [match for match in targets if ends & {match.start() - 1, match.start() - 2}]
    outside = role_of_block(clean, at, at, setting=False) != "now"
    used: set[int] = set()
    for match in named:
        before, after = sentence_around(clean, at, match.start(), match.end())
        role: Role = "other" if outside else role_of_card(before, after)
        near = next((one for one in targets if 0 <= one.start() - match.end() <= 24 and one.start() not in used), None)
        if near is not None:
            used.add(near.start())
        capability = _CAPABILITY.search(line, match.end())
        card = _card(at, match, line, near[1].lower() if near else None, capability[1] if capability else None, role)
        if card is not None:
            yield replace(card, fate=fate_or_age(before, after))
    for match in targets:
        if match.start() in used:
            continue
        follows = next((one for one in named if 0 <= one.start() - match.end() <= 4), None)
        before, after = sentence_around(clean, at, match.start(), match.end())
        role = "other" if outside else role_of_card(before, after)
        gfx = match[1].lower()
        target = gfx_target(gfx)
        if follows is not None:  # "gfx1103 (Radeon 780M)"
            continue
        yield Card(
            at,
            "amd",
            None,
            gfx,
            None,
            _count(line[: match.start()], line[match.end() :]),
            role,
            target.integrated if target else None,
            gfx,
            fate_or_age(before, after),
        )


def _means_amd(match: re.Match[str], line: str, amd: bool) -> bool:
    """Whether a name that others give to their parts too means one of AMD here; ``amd``: the text names AMD."""
    if re.match(r"(?:AMD|ATI|Radeon)\b", match[0], re.IGNORECASE):
        return True
    if _OTHERS_WORD.search(line[: match.start()]):
        return False
    if not _BARE.match(match[0]):
        return True
    if _BARE_MOBILE.match(match[0]) and not profiles_by_name(match[0]):
        return False  # "512M" and "125M" are sizes
    return amd and (_AMD_LINE.search(line) is not None or _OTHERS_LINE.search(line) is None)


def _card(at: int, match: re.Match[str], line: str, gfx: str | None, capability: str | None, role: Role) -> Card | None:
    vendor = match.lastgroup or "amd"
    name = " ".join(match[0].split())
    count = _count(line[: match.start()], line[match.end() :])
    mobile = bool(_NOT_ONE.match(line, match.end()))
    profiles = () if mobile else profiles_by_name(name)
    older = None if mobile or profiles else older_card(name)
    gfxs = {one.gfx for one in profiles}
    capabilities = {one.compute_capability for one in profiles}
    kinds = {one.integrated for one in profiles}
    # A target beside the name may be what an override made of it: then the tables tell that of the part.
    overridden = gfx is not None and len(gfxs) == 1 and None not in gfxs and gfx not in gfxs
    if overridden:
        gfx = None
    elif gfx is None:
        gfx = gfxs.pop() if len(gfxs) == 1 else older.gfx if older else None
    if gfx is None and not overridden and (follower := re.match(r"[ ,]{0,2}gfx\d", line[match.end() :])):
        gfx = follower[0].strip()
    if capability is not None:
        capability = f"{capability[:-1]}.{capability[-1]}"
    elif len(capabilities) == 1:
        capability = capabilities.pop()
    elif older is not None:
        capability = older.compute_capability
    integrated = kinds.pop() if len(kinds) == 1 else (older.integrated if older else None)
    if _in_processor(line, match.start()):
        if vendor != "amd":
            return None
        integrated = True
    shown = profiles[0].names[0] if len(profiles) == 1 and profiles[0].names and vendor == "amd" else name
    if vendor == "nvidia" and not profiles and re.match(r"\d{4}", name):
        shown = f"GeForce {'GTX' if name[0] == '1' else 'RTX'} {name}"
    elif vendor == "nvidia" and not profiles and re.fullmatch(r"[MKPT]\d{1,3}", name):
        shown = f"Tesla {name}"
    if mobile:
        shown = shown + " Laptop GPU"
    if (
        re.fullmatch(r"(?:HD ?\d{4}|R[579][ -]\d{3}X?)", name, re.IGNORECASE)
        and vendor == "amd"
        and "radeon" not in line.lower()
        and not older
    ):
        return None
    key = (
        profiles[0].id
        if profiles
        else re.sub(r"[\s_-]|nvidia|amd|geforce|radeon|tesla|instinct|\d{1,6}gb$", "", name.lower())
        + ("m" if mobile else "")
    )
    return Card(at, vendor, shown, gfx, capability, count, role, integrated, key)


def _in_processor(line: str, start: int) -> bool:
    """Whether a name belongs to the name of a processor ("AMD Ryzen 5 3400G with Radeon Vega Graphics")."""
    head = line[:start]
    return bool(_CPU_LINE.search(head[-60:]) and re.search(r"(?:with|w/)\s{0,2}(?:AMD )?\Z", head))


def _count(before: str, after: str) -> int:
    match = _COUNT.search(before[-30:])
    if match:
        number = _WORDS[match[2].lower()] if match[2] else int(match[1])
        # "GPU 0 RTX 3060" is a number of the card, "14 RTX" hardly ever a count.
        if (
            not re.search(
                r"\b(?:gpu|device|card|#|cuda|hip|rank|slot)\s?:?\s?\d{1,2}\s?\Z", before[-20:], re.IGNORECASE
            )
            and 1 <= number <= 16
        ):
            return number
    match = _COUNT_AFTER.match(after)
    number = int(match[1] or match[2]) if match else 1
    return number if 1 <= number <= 16 else 1


def machine_count(clean: Clean, lines: list[int]) -> int | None:
    """How many GPUs the lines (indices) that speak of cards say that there are ("4-GPU system", "two cards")."""
    for at in lines:
        match = _GPUS.search(clean.lines[at][:500])
        if match:
            return _WORDS[match[2].lower()] if match[2] else int(match[1])
    return None


def merged(found: list[Card]) -> list[Card]:
    """One entry a part: mentions of one part are one, a bare target belongs to the card that has it."""
    by_key: dict[tuple[str, str], Card] = {}
    for card in found:
        if card.role != "now":
            continue
        key = (card.vendor, card.key)
        held = by_key.get(key)
        best = card if held is None else held
        if held is not None:
            best = Card(
                held.line,
                held.vendor,
                held.name or card.name,
                held.gfx or card.gfx,
                held.capability or card.capability,
                max(held.count, card.count),
                "now",
                held.integrated if held.integrated is not None else card.integrated,
                held.key,
            )
        by_key[key] = best
    result = [card for card in by_key.values() if card.name is not None]
    for card in by_key.values():
        if card.name is not None:
            continue
        same = [one for one in result if one.vendor == "amd" and one.gfx == card.gfx]
        open_ones = [one for one in result if one.vendor == "amd" and one.gfx is None and not one.integrated]
        if same:
            continue
        if len(open_ones) == 1:
            at = result.index(open_ones[0])
            one = open_ones[0]
            result[at] = Card(one.line, one.vendor, one.name, card.gfx, None, one.count, "now", one.integrated, one.key)
        else:
            result.append(card)
    # "RX 7900" beside "RX 7900 XTX" is the same card, named shortly.
    names = [(one.vendor, one.key.replace("-", ""), one.gfx) for one in result]
    short = {
        (vendor, key[:end], target) for vendor, key, gfx in names for end in range(len(key)) for target in (gfx, None)
    }
    return [one for one, name in zip(result, names, strict=True) if name not in short]
