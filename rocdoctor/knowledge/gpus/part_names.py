"""GPU parts named in text: marketing names as tools print them and as people write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from rocdoctor.knowledge.gpus.profiles import GpuProfile, all_profiles
from rocdoctor.model.lazy_re import regex

# A following word that makes another part of it, which is not in the tables.
_OTHER_PART = regex(r"[\s(\[-]{0,3}(?:laptop|mobile|max-?q|notebook|ti\b|super\b|xtx?\b|gre\b)", re.IGNORECASE)

# Words in front of a number that give it to one vendor: "GTX 780M" is not the Radeon 780M.
_NAMED_BY = {
    "nvidia": regex(r"(?<![a-z])(?:nvidia|geforce|gtx?|gts|rtx|mx|quadro|tesla|titan|nvs)[ _-]{0,2}\Z", re.IGNORECASE),
    "amd": regex(r"(?<![a-z])(?:amd|ati|radeon|rx|firepro|instinct)[ _-]{0,2}\Z", re.IGNORECASE),
}


@cache
def _name_pattern() -> tuple[re.Pattern[str], Mapping[str, tuple[GpuProfile, ...]]]:
    by_key: dict[str, list[GpuProfile]] = {}
    shapes: dict[str, str] = {}
    for profile in all_profiles():
        for alias in profile.aliases:
            key = _key(alias)
            owners = by_key.setdefault(key, [])
            if profile not in owners:
                owners.append(profile)
            # "7900 XTX", "7900-XTX" and "7900XTX" are one name.
            shapes[key] = r"[ _-]?".join(re.escape(part) for part in re.split(r"[ _-]", alias))
    longest = sorted(shapes.values(), key=lambda shape: (-len(shape), shape))
    pattern = re.compile(r"(?<![a-z0-9])(?:" + "|".join(longest) + r")(?![a-z0-9])", re.IGNORECASE)
    return pattern, {key: tuple(owners) for key, owners in by_key.items()}


def _key(name: str) -> str:
    return re.sub(r"[ _-]", "", name.lower())


def profiles_by_name(text: str) -> tuple[GpuProfile, ...]:
    """The parts that a text names, in order of first mention; a name that several parts share gives all of them.

    Works on marketing names of tools and on prose. Mobile variants of a desktop name are left out, since they are
    other parts.
    """
    pattern, owners = _name_pattern()
    found: dict[str, GpuProfile] = {}
    for match in pattern.finditer(text[:1_000_000]):
        if not _OTHER_PART.match(text, match.end()):
            head = text[max(0, match.start() - 12) : match.start()]
            for profile in owners[_key(match.group())]:
                if not any(vendor != profile.vendor and word.search(head) for vendor, word in _NAMED_BY.items()):
                    found.setdefault(profile.id, profile)
    return tuple(found.values())
