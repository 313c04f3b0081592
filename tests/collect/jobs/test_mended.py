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
    # the writer's own program, paragraphs later
    "{error}\n\nThe driver is new.\n\nUpdate: it was my own bug. One rank left the loop early, the others waited.\n",
    "{error}\n\nNever mind, this was a bug in my script. Nothing wrong with the machine.\n",
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
    # of another machine, another trouble, another person
    "{error}\n\nUpdate: node A works now after the reboot. Node B does not.\n",
    "{error}\n\nThe numpy error I had before is gone now. This one remains.\n",
    "{error}\n\nPS: the display flicker of my last post was fixed by a new cable.\n",
    "{error}\n\nMy colleague fixed it by a reinstall. I cannot reinstall this server.\n",
    "user17 wrote:\n{error}\n\nmaintainer42 wrote:\nThis was fixed in ROCm 7.2.\n",
    "{error}\n\nAMD says it is fixed by the next driver. I need something for today.\n",
    # not for long, or no remedy
    "{error}\n\nI fixed it by rebooting. It comes back every day.\n",
    "{error}\n\nA power cycle fixed it. Three times this week.\n",
    "{error}\n\nEDIT: fixed it by a new group.\nEDIT 2: after the update of last night I see it once more.\n",
    "{error}\n\nI fixed it by training on the CPU, which takes a week.\n",
    "{error}\n\nDowngrading to kernel 6.8 fixed it. I need 6.14 for the network card.\n",
    "user_a:\n{error}\n\nuser_b:\nhad that too, fixed it by adding myself to render\n",
    # whose bug it was is not sure, or it is not all
    "{error}\n\nI think it is a bug in my code.\n",
    "{error}\n\nA colleague says it was a bug in my script.\n",
    "{error}\n\nIt is not a bug in my code.\n",
    "{error}\n\nIt was a bug in my script, and now it hangs elsewhere.\n",
    "{error}\n\nThere was a bug in my script. With it mended the job still fails.\n",
    # words that take leave, and lists of states
    "{error}\n\nThanks for the fast answer. I ran your commands and the line is the same.\n",
    "{error}\n\nThis is with my fork of the trainer.\n",
    "{error}\n\n$ ./health.sh\ndisk: all good\nnetwork: all good\ngpu: 0 found\n",
)


def _role(text: str) -> str:
    messages = collect(open_text(text.format(error=_ERROR), "a text")).messages
    return next(one.role for one in messages if one.kind == "no-hip-device")


def test_what_its_writer_says_is_over_is_no_fault_now() -> None:
    assert [text for text in _OVER if _role(text) != "advice"] == []


def test_what_is_doubted_asked_or_back_again_stays_a_fault() -> None:
    assert [text for text in _NOT_OVER if _role(text) != "now"] == []
