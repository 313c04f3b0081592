"""Which of the cards that a text names are in the machine: not those of before, nor what an override made of one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from rocdoctor.knowledge.lookup import override_gfx_name
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.env_settings import TextSetting
from rocdoctor.paste.named_cards import Card
from rocdoctor.paste.speakers import is_sentence

_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"


def overridden_targets(found: Sequence[TextSetting]) -> frozenset[str]:
    """The targets that overrides of the text make programs print."""
    values = [one.value for one in found if one.name.startswith(_OVERRIDE) and one.role == "now" and one.value]
    return frozenset(target for value in values if (target := override_gfx_name(value)) is not None)


def settled(clean: Clean, found: Sequence[Card], targets: Collection[str]) -> list[Card]:
    """The mentions, with the role "other" for cards that were sold or replaced wherever a sentence names them.

    What a program prints stays. ``targets``: those of overrides; alone they are no card beside one that has a name.
    """
    stays = {_key(one) for one in found if one.fate in ("new", "kept")}
    gone = {_key(one) for one in found if one.fate == "former"} - stays
    now = {_key(one) for one in found if one.role == "now" and one.fate != "old"}
    if gone or stays:
        # "My old X" is the card before where a newer one is spoken of, else just an aged one.
        gone |= {_key(one) for one in found if one.fate == "old"} - now if now - gone else set()
    former_gfx = {one.gfx for one in found if _key(one) in gone} - {
        one.gfx for one in found if one.role == "now" and one.name is not None and _key(one) not in gone
    }
    result: list[Card] = []
    for one in found:
        left = _key(one) in gone or (one.name is None and one.gfx in former_gfx)
        result.append(
            replace(one, role="other") if one.role == "now" and left and is_sentence(clean, one.line) else one
        )
    named = {
        one.gfx
        for one in result
        if one.role == "now" and one.vendor == "amd" and one.name is not None and one.gfx and not one.integrated
    }
    if named and not named & set(targets):
        result = [one for one in result if one.name is not None or one.gfx not in targets]
    return result


def _key(card: Card) -> tuple[str, str]:
    return card.vendor, card.key
