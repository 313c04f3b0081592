"""Cards without a profile: what their name alone tells of the target that they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rocdoctor.knowledge.load import load_table, words
from rocdoctor.model.lazy_re import regex

# Words of a name that do not tell parts apart.
_FILL = regex(r"nvidia|geforce|tesla|quadro|radeon|amd|ati|instinct|[ _-]|pcie|sxm\d?|\d{1,2}gb")

# "AMD A10" is a processor, not the NVIDIA A10: what the number is called decides.
_OTHER_VENDOR = {
    "nvidia": regex(r"(?i)(?<![a-z])(?:amd|ati|radeon|firepro|instinct)(?![a-z])"),
    "amd": regex(r"(?i)(?<![a-z])(?:nvidia|geforce|tesla|quadro)(?![a-z])"),
}


@dataclass(frozen=True, slots=True)
class OlderCard:
    """What is known of a part: ``gfx`` of AMD, ``compute_capability`` of NVIDIA; None where the name does not tell."""

    vendor: str
    gfx: str | None
    compute_capability: str | None
    integrated: bool
    sources: tuple[str, ...]


@cache
def _by_key() -> Mapping[str, OlderCard]:
    found: dict[str, OlderCard] = {}
    for raw in load_table("older_cards")["cards"]:
        card = OlderCard(
            raw["vendor"], raw.get("gfx"), raw.get("compute_capability"), raw.get("integrated", False), words(raw["s"])
        )
        for name in raw["names"]:
            key = _key(name)
            found[key] = card
            # "1080 Ti" is a GTX, "4090" an RTX: their numbers tell them apart.
            if card.vendor == "nvidia" and key.startswith(("gtx", "rtx")) and len(key) > 5 and key[3].isdigit():
                found.setdefault(key[3:], card)
    return found


def _key(name: str) -> str:
    return _FILL.sub("", name.lower())


def older_card(name: str) -> OlderCard | None:
    """The card of a name such as "GTX 1080 Ti", "Tesla P100-PCIE-16GB" or "RX 580"; None where no row has it."""
    card = _by_key().get(_key(name))
    others = _OTHER_VENDOR.get(card.vendor) if card is not None else None
    return None if others is not None and others.search(name) else card
