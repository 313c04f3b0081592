from __future__ import annotations

import copy
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from rocdoctor.model.lazy_re import regex


def test_a_pattern_behaves_like_the_one_that_it_becomes() -> None:
    lazy, real = regex(r"(?P<a>\d)x", re.IGNORECASE), re.compile(r"(?P<a>\d)x", re.IGNORECASE)
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (real.pattern, real.flags, real.groupindex)
    assert lazy.sub("-", "1X 2x") == real.sub("-", "1X 2x") == "- -"
    assert regex(rb"\d").findall(b"a1") == [b"1"]


def test_nothing_is_compiled_before_it_is_used() -> None:
    broken = regex("(")
    with pytest.raises(re.error):
        broken.search("")


def test_copies_and_threads_have_the_same_pattern() -> None:
    lazy = regex(r"\d+")
    for one in (copy.copy(lazy), copy.deepcopy(lazy)):
        assert one.fullmatch("12")
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: regex(r"[ab]+").fullmatch("ab") is not None, range(64)))
