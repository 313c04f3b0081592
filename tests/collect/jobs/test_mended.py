"""Who says at the end that it is over speaks of a fault that was; who only hopes or asks does not."""

from __future__ import annotations

from rocdoctor.collect import collect
from rocdoctor.paste import open_text

_ERROR = "RuntimeError: No HIP GPUs are available"
_OVER = (
    "{error}\n\nEDIT: fixed it by adding myself to the render group.\n",
    "{error}\n\nUpdate: booting the older kernel solved it.\n",
    "{error}\n\nI added myself to the render group. That was the fix, thanks for reading.\n",
    "I had this yesterday: {error}\n\nSolved by a new cable, it works again.\n",
)
_NOT_OVER = (
    "{error}\n\nHow can this be solved?\n",
    "{error}\n\nI read that the render group solved it for a colleague, but not for me.\n",
    "{error}\n\nSetting HSA_OVERRIDE_GFX_VERSION=10.3.0 fixed it, but why is it needed?\n",
    "{error}\n\nIt is fixed if I run as root, as a normal user it fails.\n",
    "{error}\n\nA reboot fixed it, an hour later it failed again.\n",
    "I fixed it by reinstalling docker, that was the solution. Today torch says\n\n{error}\n",
    "In the container:\n{error}\n\nWithout --contain everything works on this host.\n",
    "{error}\n\nOn the host everything works.\n",
    "{error}\n\nWith one GPU everything works.\n",
    "{error}\n\nUpdate: still not fixed with the newest release.\n",
)


def _role(text: str) -> str:
    messages = collect(open_text(text.format(error=_ERROR), "a text")).messages
    return next(one.role for one in messages if one.kind == "no-hip-device")


def test_what_its_writer_says_is_over_is_no_fault_now() -> None:
    assert [text for text in _OVER if _role(text) != "advice"] == []


def test_what_is_doubted_asked_or_back_again_stays_a_fault() -> None:
    assert [text for text in _NOT_OVER if _role(text) != "now"] == []
