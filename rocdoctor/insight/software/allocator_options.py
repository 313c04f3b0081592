"""Options of torch's caching allocator: whether the value of PYTORCH_ALLOC_CONF (and its older names) is taken.

Form and limits: c10/core/AllocatorConfig.h and c10/cuda/CUDAAllocatorConfig.h of torch 2.13, and what that release says
to each kind of wrong value.
"""

from __future__ import annotations

import re

from rocdoctor.knowledge.lookup import AllocatorOption, allocator_options
from rocdoctor.model.lazy_re import regex

NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
_NUMBER = regex(r"[0-9]{1,18}")
_FRACTION = regex(r"[0-9]{1,9}(?:\.[0-9]{0,18})?|\.[0-9]{1,18}")
# One "key:value" up to its comma; lists stand in brackets.
_PAIR = regex(r"([^:,\[\]]{1,80})(?::(\[[^\[\]]{0,400}\]|[^,\[\]]{0,200}))?(?:,|\Z)")


def complaint_of_options(value: str) -> str | None:
    """What torch does not take in a value, as the end of a sentence; None when it may be right.

    Options that no table has are left alone unless they are a slip of a known one: later releases add some.
    """
    text = re.sub(r"\s", "", value).strip("\"'")
    if not text or len(text) > 2000:
        return None
    known = {option.name: option for option in allocator_options()}
    at = 0
    while at < len(text):
        match = _PAIR.match(text, at)
        if match is None:
            return None
        at = match.end()
        key, told = match[1], match[2]
        if told is None:
            name, equals, _ = key.partition("=")
            return f"options are written {name}:value, not {name}=value" if equals and name in known else None
        option = known.get(key)
        if option is None:
            import difflib  # for the rare mistake alone

            near = difflib.get_close_matches(key, known, n=1, cutoff=0.85)
            if near:
                return f"torch has no option {key}; {near[0]} was probably meant"
        elif (wrong := _wrong(option, told)) is not None:
            return wrong
    return None


def _wrong(option: AllocatorOption, told: str) -> str | None:
    name = option.name
    if option.kind == "bool":
        return None if told in ("True", "False") else f"{name} takes True or False, spelled exactly so"
    if option.kind == "int":
        if not _NUMBER.fullmatch(told):
            return f"{name} takes a whole number"
        if option.minimum is not None and int(told) < option.minimum:
            return f"{name} must be at least {option.minimum}"
    if option.kind == "fraction":
        if not _FRACTION.fullmatch(told):
            return f"{name} takes a number between 0 and 1"
        if not 0 < float(told) < 1 and not (float(told) == 1 and option.one_allowed):
            return f"{name} must be between 0 and 1"
    if option.kind == "powers":
        return _powers(name, told)
    if option.kind == "word" and told not in option.values:
        return f"{name} takes {' or '.join(option.values)}"
    return None


def _powers(name: str, told: str) -> str | None:
    parts = told[1:-1].split(",") if told.startswith("[") else [told]
    for part in parts:
        number = part.rpartition(":")[2]
        if not _NUMBER.fullmatch(number) or (int(number) and int(number) & (int(number) - 1)):
            return f"{name} takes powers of two"
    return None
