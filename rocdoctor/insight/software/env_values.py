"""Whether the value of an environment variable is one that its reader takes, and which known name was meant.

Everything here prefers silence: text that is not a plain value (a shell expression, a template, a masked value) is not
judged, and open lists are not limits.
"""

from __future__ import annotations

from functools import cache

from rocdoctor.knowledge.lookup import EnvVariable, bool_spelling, env_names, env_variable, rules_for
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import whole_number

# Judged by checks of their own, by the runtime's rules rather than by a form.
OWN_CHECKS = regex(
    r"(?:ROCR|HIP|CUDA)_VISIBLE_DEVICES$|GPU_DEVICE_ORDINAL$|HSA_OVERRIDE_GFX_VERSION|[A-Z]{1,10}_SOCKET_IFNAME$"
)
_NOT_PLAIN = regex(r"[$`{}<>*?|;&()]|\.\.\.|masked-")
_INTEGER = regex(r"[+-]?(?:[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16})")
# Families whose names are known well enough that a neighbour is a misspelling.
_FAMILIES = (
    "NCCL_",
    "RCCL_",
    "TORCH_NCCL_",
    "HSA_",
    "HIP_",
    "ROCR_",
    "CUDA_VISIBLE",
    "PYTORCH_",
    "GLOO_",
    "MIOPEN_",
    "OMP_",
    "AMD_",
)
_SHORTEST = 9


def is_plain(value: str) -> bool:
    """A value as a program would get it, not an expression that a shell or a template still has to fill in."""
    return bool(value.strip()) and len(value) <= 500 and _NOT_PLAIN.search(value) is None


def count_in(value: str) -> int | None:
    """A count of at most six digits; None for anything else."""
    return whole_number(value, 999_999)


def complaint(entry: EnvVariable, value: str) -> str | None:
    """What is wrong with a value, as the end of a sentence ("must be a whole number"); None when it may be right."""
    if OWN_CHECKS.match(entry.name) or entry.status != "current" or not is_plain(value):
        return None
    text = value.strip().strip("\"'")
    if entry.values and not entry.values_open and entry.type in ("enum", "enum_or_int"):
        return _enumerated(entry, text)
    if entry.type == "int" and not entry.values:
        # OpenMP takes a list, one number for each level of nesting.
        numbers = text.split(",") if entry.component.startswith("OpenMP") else [text]
        if not all(_INTEGER.fullmatch(one.strip()) for one in numbers):
            return "a whole number is expected"
        return _range(entry, [int(one, 16 if "x" in one.lower() else 10) for one in numbers])
    return None


def _enumerated(entry: EnvVariable, text: str) -> str | None:
    known = {one.lower() for one in entry.values} if entry.case_free else set(entry.values)
    words = [text.lower() if entry.case_free else text]
    if all(word in known for word in words):
        return None
    if entry.type == "enum_or_int" and _INTEGER.fullmatch(text):
        return None
    if set(entry.values) <= {"0", "1", "true", "false"}:
        spelling = bool_spelling(entry.name)
        # What a reader of numbers makes of other numbers is its own affair.
        if spelling is None or _INTEGER.fullmatch(text):
            return None
        taken = [*spelling.true, *spelling.false]
        if text in taken or (spelling.case_free and text.lower() in taken):
            return None
    return f"{' or '.join(entry.values[:6])}{' ...' if len(entry.values) > 6 else ''} is expected"


def _range(entry: EnvVariable, numbers: list[int]) -> str | None:
    # -1 is "not set" for many readers.
    low, high = entry.minimum, entry.maximum
    for number in numbers:
        if low is not None and number < low and number != -1:
            return f"it must be at least {low}"
        if high is not None and number > high:
            return f"it must be at most {high}"
    return None


def meant(name: str) -> str | None:
    """The known name that an unknown one is one slip away from; None when the name is known or none is near."""
    if not name.startswith(_FAMILIES) or len(name) < _SHORTEST or len(name) > 80 or env_variable(name) is not None:
        return None
    if any(name.startswith(prefix) for rule in rules_for(name) for prefix in rule.not_prefixes):
        return None
    near = [known for known in _similar(name) if _one_slip(name, known)]
    found = [known for known in near if (entry := env_variable(known)) is not None and entry.status == "current"]
    return found[0] if len(found) == 1 else None


def _similar(name: str) -> set[str]:
    """The known names that begin or end alike: a slip touches two neighbouring letters at most, so one half stays."""
    half = (len(name) - 2) // 2
    return {*_by_part(half, True).get(name[:half], ()), *_by_part(half, False).get(name[-half:], ())}


@cache
def _by_part(length: int, first: bool) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for known in env_names():
        found.setdefault(known[:length] if first else known[-length:], []).append(known)
    return found


def _one_slip(one: str, other: str) -> bool:
    """One letter left out, added or changed, or two neighbours exchanged; numbers that differ are no slip."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    a, b = one[start:], other[start:]
    if len(a) == len(b):
        changed = a[1:] == b[1:] and not (a[0].isdigit() and b[0].isdigit())
        return changed or (len(a) > 1 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:])
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    return longer[1:] == shorter and not longer[0].isdigit()
