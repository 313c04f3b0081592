"""How long what may hang is waited for: a whole deadline once, then little, so that a run ends soon after it.

A sick device or file system rarely hangs in one file alone. The first wait tells that something is sick; later ones
share what little time is left to the run, least in a folder that is known to hang.
"""

from __future__ import annotations

import _thread
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rocdoctor.model.lazy_re import regex

_T = TypeVar("_T")
DEADLINE_S = 5.0
# Importing torch reads gigabytes: seconds from a disk, far more from a cold or a network disk, or on a busy machine.
# (A judgement: nobody states how long it may take.)
TORCH_S = 60.0
_PYTHON_LINE = regex(r"(?:run )?(?:\S{0,4096}/)?python[\d.]{0,8}[dmt]? -c [^\n]*")
_TORCH_IN = regex(r"\b(?:import|from) (?:[\w., ]{0,200}[., ])?torch\b")
# What all waits after the first may take together, and the part of what is left that one of them gets.
_MORE_S = 1.0
_PART = 4
_MOST_S, _KNOWN_S, _LEAST_S = 0.2, 0.05, 0.01
# After so many in one folder nothing more is begun there: each one holds a thread for good.
_ENOUGH = 8
# Programs that begin after something hung: at least as long as a healthy one takes on a busy machine, and as long as
# the run would have lasted with one hang, and a little more.
_PROGRAM_S, _BEYOND_S = 1.0, 0.5
_STEP_S = 0.25
# A look at one file or folder before anything else begins: enough for a disk that has to start.
_LOOK_S = 2.0


class Patience:
    """The time that is left for waiting; ``whole_s`` is one deadline."""

    def __init__(self, whole_s: float) -> None:
        self.begin(whole_s)

    def begin(self, whole_s: float) -> None:
        """Nothing has hung yet."""
        self.whole_s = whole_s
        self._left_s = _MORE_S
        self._late: Counter[str] = Counter()
        self._ends: float | None = None  # when a program that begins by then has had the time of the whole run
        self.silent: dict[str, None] = {}  # folders that gave no answer and that nobody else names

    def limit_s(self, place: str) -> float:
        """How long a look in that folder is waited for; 0: it is not begun any more."""
        if self._ends is None:
            return self.whole_s
        known = self._late[place]
        if known >= _ENOUGH:
            return 0.0
        most = _KNOWN_S if known else _MOST_S
        return min(self.whole_s, max(_LEAST_S, min(most, self._left_s / _PART)))

    def program_limit_s(self, question: str = "") -> float:
        """How long a program that begins now may take; longer where its question says that it imports torch."""
        if self._ends is None:
            return max(self.whole_s, TORCH_S) if imports_torch(question) else self.whole_s
        return min(self.whole_s, max(_PROGRAM_S, self._ends - time.monotonic()))

    def hung(self, place: str, waited_s: float) -> None:
        """Keep in mind that something there gave no answer in that time."""
        self._late[place] += 1
        if self._ends is None:
            self._ends = time.monotonic() + max(0.0, self.whole_s - waited_s) + _BEYOND_S
        else:
            self._left_s = max(0.0, self._left_s - waited_s)

    def look(self, place: str, question: Callable[[], _T]) -> _T | None:
        """The answer to a question that has no deadline of its own and comes first; None where it takes too long."""
        answers = self._within(place, question, _LOOK_S)
        return answers[0] if answers else None

    def answers(self, folder: str, question: Callable[[], object], most_s: float) -> bool:
        """Whether a look into a folder ends in time; one that does not is kept in mind, to be named."""
        if folder in self.silent or self._within(folder, question, most_s):
            return folder not in self.silent
        self.silent[folder] = None
        return False

    def _within(self, place: str, question: Callable[[], _T], most_s: float) -> list[_T]:
        limit_s = min(self.limit_s(place), most_s)
        found = within(limit_s, question) if limit_s else []
        if not found:
            self.hung(place, limit_s)
        return found

    @property
    def sick(self) -> bool:
        """Whether something has hung."""
        return self._ends is not None


class Looking:
    """Whether we ourselves still get on with looking through files: a busy machine makes that slow, and hangs nothing.

    ``limit_s``: how long one step may take. Three times as long is the end of all.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._seen = time.monotonic()
        self._until = self._seen + 3 * limit_s

    def step(self) -> None:
        """A file more was looked at."""
        self._seen = time.monotonic()

    @property
    def busy(self) -> bool:
        now = time.monotonic()
        return now < self._until and now - self._seen < self._limit_s


_hearing: list[Callable[[], None]] = []


@contextlib.contextmanager
def heard(step: Callable[[], None]) -> Iterator[None]:
    """While this lasts, ``step`` is called before each place that root judges to find a program."""
    _hearing.append(step)
    try:
        yield
    finally:
        _hearing.remove(step)


def tell() -> None:
    """A place more is judged."""
    for step in tuple(_hearing):
        step()


def imports_torch(command: str) -> bool:
    """Whether a command, or the question that runs it, is one line of Python that imports torch."""
    line = _PYTHON_LINE.match(command)
    return line is not None and _TORCH_IN.search(line[0]) is not None


RUN = Patience(DEADLINE_S)
"""That of this run of a command, which begins it: for what the command looks at itself, and its questions."""


def within(limit_s: float, question: Callable[[], _T], moves: Callable[[], int] = lambda: 0) -> list[_T]:
    """The answer as the only one of a list, which is empty where there is none in time; raises what the question does.

    Its thread is left behind then: nothing ends a wait in the kernel. Where ``moves`` grows, the question goes on and
    has the whole time again.
    """
    answers: list[_T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def answer() -> None:
        try:
            answers.append(question())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    try:
        _thread.start_new_thread(answer, ())
    except (RuntimeError, MemoryError):  # this user may start no more
        return [question()]
    seen = moves()
    while not wait(done, limit_s) and (now := moves()) != seen:
        seen = now
    if errors:
        raise errors[0]
    return answers


def each_within(
    limit_s: float, places: Sequence[str], look: Callable[[str], _T], most_hung: int = 1 << 30
) -> list[_T | None]:
    """What a look at each place gives, one after the other; None where one takes so long.

    The first that hangs has the whole time, each further one a fifth: the others lose little by it. Each leaves a
    thread behind: after ``most_hung`` of them nobody looks at the rest.
    """
    found: list[_T | None] = []
    while len(found) < len(places):
        part = places[len(found) :]
        seen: list[_T] = []

        def look_at(part: Sequence[str] = part, seen: list[_T] = seen) -> bool:
            seen.extend(map(look, part))  # one by one, as they come
            return True

        ended = within(limit_s, look_at)
        found += seen[: len(part)]
        if not ended and len(found) < len(places):
            found.append(None)
            most_hung -= 1
            if most_hung <= 0:
                return [*found, *[None] * (len(places) - len(found))]
            limit_s = min(limit_s, max(_LEAST_S, limit_s / 5))
    return found


def wait(event: threading.Event, seconds: float) -> bool:
    """Wait in steps: Python does not see a signal that comes just before a wait begins until the wait is over."""
    until = time.monotonic() + seconds
    while not event.wait(max(0.0, min(_STEP_S, until - time.monotonic()))):
        if time.monotonic() >= until:
            return False
    return True
