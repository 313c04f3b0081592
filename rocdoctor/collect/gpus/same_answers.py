"""What was made of a host's answers, kept for as long as they are the same: for sensors, read every few seconds."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from rocdoctor.host.base import Answer, Host, same_answer
from rocdoctor.host.recorder import Recorder

T = TypeVar("T")


class SameAnswers:
    """Results by name, each with the answers that it was made of. They are shared: nobody may change them."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[dict[str, Answer], Any]] = {}

    def made(self, name: Hashable, host: Host, make: Callable[[Host], T]) -> T:
        """``make(host)``, or what it gave before where each question that it asked is answered as it was then.

        They are asked in the same order, up to the first other answer: a GPU that sleeps by now is asked no more.
        """
        name = name, host.kind, host.origin  # what is made need not come from answers alone
        kept = self._kept.get(name)
        if kept is not None and all(same_answer(was, host.ask(question)) for question, was in kept[0].items()):
            return kept[1]  # type: ignore[no-any-return]
        noting = Recorder(host)
        made = make(noting)
        self._kept[name] = noting.answers, made
        return made
