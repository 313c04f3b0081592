"""Keys in the order they are typed: each waits until what the one before it opened is there.

Textual gives a key at once to the part that has the focus. Whoever types faster than a screen comes up would work on
the screen that goes: the name of a file would choose screens, an arrow would move a list that is not seen any more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from textual.app import ScreenStackError
from textual.dom import DOMNode
from textual.events import Event, Key, Paste
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

from rocdoctor.tui.background import Call
from rocdoctor.tui.few_colours import FewColoursApp
from rocdoctor.tui.kept_focus import KeptFocus

_LOOK_S = 0.25
HANGS, FILLS = 12, 40
"""So many times it is looked at most whether a part has heard a key, and whether a screen is filled. Time that the app
itself works, or does not get from the machine, counts as one look: only who waits idly waits in vain."""
_ROUNDS = 6  # a screen opens, hears what is known, is drawn; a question that it asks at once does the same
_INTERRUPTS = frozenset({"ctrl+c", "ctrl+q"})
_LEAVES = frozenset({"escape", "q"})

_Typed = Key | Paste
_Place = tuple[Screen[Any] | None, Widget | None]  # who has the keys
_NOWHERE: _Place = (None, None)


class TypedAhead(FewColoursApp):
    """An app whose keys, and pasted texts, wait for their turn.

    Ctrl+C and ctrl+q drop what waits, as they do in a terminal. The app's own keys, which lead elsewhere, do not wait
    for what fills a screen. Where a part hangs, Escape and q drop what was typed before them, and the app hears them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._held: deque[_Typed] = deque()
        self._turns: asyncio.Task[None] | None = None
        self._told = asyncio.Event()
        self._giving = False
        self._hangs = False

    @property
    def keys_wait(self) -> bool:
        """Whether keys wait, or what one set off has not ended."""
        return self._giving or self._turns is not None

    async def on_event(self, event: Event) -> None:
        """Give a key to the screen, or hold it."""
        if not isinstance(event, (Key, Paste)) or event.is_forwarded:
            await super().on_event(event)
        elif self._turns is None and self._up() and not self._waits_for_work(event):
            await self._give(event)
        elif isinstance(event, Key) and event.key in _INTERRUPTS:
            self._held.clear()
            await self._heard_here(event)
        else:
            self._held.append(event)
            if self._turns is None:
                self._turns = asyncio.create_task(self._in_turn([], _NOWHERE))

    def on_call(self, message: Call) -> None:
        """Some work has told something: what waits for it looks again."""
        self._told.set()

    def on_unmount(self) -> None:
        """Nobody reads keys any more."""
        if self._turns is not None:
            self._turns.cancel()

    async def _give(self, event: _Typed, given: asyncio.Future[tuple[list[DOMNode], _Place]] | None = None) -> None:
        """To the part that has the focus; the app hears of it when all around that part have."""
        place = self._place()
        reached = self._chain()
        self._giving = True
        in_text = isinstance(place[1], (Input, TextArea))
        if self._hangs and isinstance(event, Key) and event.key in _LEAVES and not in_text:
            await self._heard_here(event)
        else:
            await super().on_event(event)
        self._giving = False
        if given is not None:
            given.set_result((reached, place))
        else:
            self._turns = asyncio.create_task(self._in_turn(reached, place))

    async def _heard_here(self, event: Key) -> None:
        if not await self._check_bindings(event.key, priority=True):
            await self._check_bindings(event.key)

    async def _in_turn(self, reached: list[DOMNode], place: _Place) -> None:
        """Until no key waits: what the last one set off, then the next one. Runs beside the app."""
        try:
            while True:
                self._hangs = not await _within(HANGS, self._settled(reached, place))
                if self._hangs:
                    self._drop_before_leaving()
                elif self._held:
                    await _within(FILLS, self._filled())
                if not self._held:
                    break
                given: asyncio.Future[tuple[list[DOMNode], _Place]] = asyncio.get_running_loop().create_future()
                self.call_later(self._give, self._held.popleft(), given)
                reached, place = await given
        finally:
            self._turns = None

    def _drop_before_leaving(self) -> None:
        leaves = [at for at, one in enumerate(self._held) if isinstance(one, Key) and one.key in _LEAVES]
        for _ in range(leaves[0] if leaves else 0):
            self._held.popleft()

    async def _settled(self, reached: list[DOMNode], place: _Place) -> None:
        """Wait until a key, and the messages that it caused, were heard, and what they opened is drawn and has keys."""
        await _heard(reached)
        await _heard(self._chain())
        for _ in range(_ROUNDS):
            if (now := self._place()) == place and self._up():
                return
            place = now
            await _heard(self._chain())
            if now[0] is not None:
                await _drawn(now[0])

    def _place(self) -> _Place:
        try:
            return self.screen, self.screen.focused
        except ScreenStackError:
            return _NOWHERE

    def _chain(self) -> list[DOMNode]:
        """Where a key goes, and on to which parts around it."""
        screen, focused = self._place()
        node = focused or screen or self
        return list(node.ancestors_with_self)

    def _up(self) -> bool:
        screen, _ = self._place()
        return screen is not None and screen.is_mounted and not (isinstance(screen, KeptFocus) and not screen.caught_up)

    def _waits_for_work(self, event: _Typed) -> bool:
        screen, _ = self._place()
        if not isinstance(screen, KeptFocus) or not screen.filling:
            return False
        return not (isinstance(event, Key) and (event.key in _LEAVES or event.key in self._bindings.key_to_bindings))

    async def _filled(self) -> None:
        """Wait for what fills the screen, where the next key is for that."""
        while self._held and self._waits_for_work(self._held[0]):
            self._told.clear()
            await self._told.wait()


async def _within(looks: int, work: Coroutine[Any, Any, None]) -> bool:
    """Wait for it; whether it ended in time."""
    task = asyncio.create_task(work)
    try:
        for _ in range(looks):
            done, _ = await asyncio.wait({task}, timeout=_LOOK_S)
            if done:
                task.result()
                return True
        return False
    finally:
        task.cancel()


async def _heard(chain: list[DOMNode]) -> None:
    """Wait until each of the parts, in turn, has done what it was told so far."""
    for one in chain:
        await _called(one, one.call_later)


async def _drawn(screen: Screen[Any]) -> None:
    await _called(screen, screen.call_after_refresh)


async def _called(pump: MessagePump, call: Callable[[Callable[[], object]], bool]) -> None:
    """Wait until a part calls back; one that is closing does not."""
    heard = asyncio.Event()
    if pump.is_running and call(heard.set):
        await heard.wait()
