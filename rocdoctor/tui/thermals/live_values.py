"""Sensors while somebody watches: one look after the other, the history, and when clocks were held down.

Without Textual. A look runs in a thread; what it waits for stands in ``Watch.waiting``, for the screen to read.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from rocdoctor.collect.gpus.asleep import all_awake
from rocdoctor.collect.gpus.gpu_users import GpuUsers, gpu_users
from rocdoctor.collect.gpus.sensors import CpuSensors, SensorReader, cpu_sensors
from rocdoctor.host.base import Answer, Host, Kind
from rocdoctor.insight.gpus.gpu_health import external_reasons, heat_reasons
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.lazy_re import regex
from rocdoctor.train.smoke.figures.sampler import Reading, reading_of

KEPT = 600  # looks: 20 minutes at the usual rate
_MOST_EVENTS = 200
# The same reason again within this time is the same event.
_AGAIN_S = 60.0
# A GPU that did not answer hangs in the kernel: each further question would leave one more thread there.
RETRY_S = 60.0
# A look at the open files of every process costs far more than one at the sensors.
USERS_S = 10.0

# What changes from one look to the next; everything else is asked once.
_CHANGES = regex(
    r"_(?:input|average|cap|used)$|/pwm\d+(?:_enable)?$|/(?:gpu_busy_percent|gpu_metrics|pcie_bw|runtime_status|"
    r"power_dpm_force_performance_level|pp_dpm_\w+|scaling_cur_freq)$"
)
_PLACE = regex(r"(/sys/class/drm/(card\d+)/|/sys/bus/pci/devices/([0-9a-f:.]+)/|/sys/class/hwmon/hwmon\d+/)")
# The kernel answers these without asking the device.
_HARMLESS = ("/uevent", "/power/runtime_status")
# Of clocks that are held down by what a user set up, or by nothing to do.
_ASKED_FOR = ("gpu_idle", "applications_clocks_setting", "display_clocks_setting", "sync_boost")


@dataclass(frozen=True, slots=True)
class Sample:
    """One look: when (monotonic, and the time of day), the GPUs, their counters of throttled time, the processors.

    ``silent``: DRM cards, PCI addresses or questions that gave no answer in time, and since when (monotonic).
    """

    at_s: float
    clock: str
    gpus: tuple[Gpu, ...] = ()
    residencies: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    cpu: CpuSensors = field(default_factory=CpuSensors)
    silent: Mapping[str, float] = field(default_factory=dict)
    users: GpuUsers | None = None


class Watch:
    """Looks at a machine again and again. ``waiting`` is the question that is open, and since when (monotonic)."""

    def __init__(self, fresh: Callable[[], Host], now: Callable[[], float] = time.monotonic) -> None:
        """``fresh`` gives the machine as a host that knows no answer yet."""
        self.waiting: tuple[str, float] | None = None
        self.looks = 0
        self._fresh = fresh
        self.now = now
        self._reader = SensorReader(counting=True)
        self._kept: dict[str, Answer] = {}
        self._changing: dict[str, bytes] = {}  # what is asked in each look, and what was answered
        self._since: dict[str, float] = {}  # what is silent, and since when
        self._until: dict[str, float] = {}  # and when it may be asked again
        self._users: GpuUsers | None = None
        self._users_at = 0.0

    def retry(self) -> None:
        """Ask everything in the next look, also what did not answer."""
        self._until.clear()
        self._users = None

    def look(self) -> Sample:
        """One look. It takes as long as the machine takes to answer."""
        self.looks += 1
        seen = _Seen(self._fresh(), self)
        self._ask_together(seen.inner)
        found = self._reader.read(seen)
        cpu = cpu_sensors(seen)
        now = self.now()
        self._since = {one: self._since.get(one, when) for one, when in seen.silent.items()}
        for one in seen.silent:
            if self._until.get(one, 0.0) <= now:
                self._until[one] = now + RETRY_S
        if found.gpus and (self._users is None or now - self._users_at >= USERS_S):
            self._users, self._users_at = gpu_users(_Told(seen.inner, self), found.gpus), now
        clock = time.strftime("%H:%M:%S")
        return Sample(now, clock, found.gpus, found.residencies, cpu, dict(self._since), self._users)

    def answer(self, host: Host, question: str) -> Answer:
        """The kept answer, a refusal where the place is silent, or that of the machine."""
        if question in self._kept:
            return self._kept[question]
        if self.now() < self._until.get(place(question), 0.0) and not question.endswith(_HARMLESS):
            return Answer(question, "timeout", note="the last look")
        self.waiting = (question, self.now())
        try:
            answer = host.ask(question)
        finally:
            self.waiting = None
        if answer.status in ("ok", "absent") and _lasts(question):
            self._kept[question] = answer
        else:
            self._changing[question] = answer.data
        return answer

    def _ask_together(self, host: Host) -> None:
        """Ask at once what the last look asked, but what is silent."""
        before, self._changing = self._changing, {}
        if all_awake(host, before):
            host.prefetch(one for one in before if self.wanted(one))

    def wanted(self, question: str) -> bool:
        """Whether the machine is to be asked at all."""
        return question not in self._kept and place(question) not in self._since


class _Seen:
    """The machine in one look."""

    kind: Kind = "live"

    def __init__(self, inner: Host, watch: Watch) -> None:
        self.inner = inner
        self.origin = inner.origin
        self.silent: dict[str, float] = {}  # what did not answer, and when it was asked
        self._watch = watch

    def ask(self, question: str) -> Answer:
        asked = self._watch.now()
        answer = self._watch.answer(self.inner, question)
        if answer.status == "timeout":
            self.silent.setdefault(place(question), asked)
        return answer

    def prefetch(self, questions: Iterable[str]) -> None:
        self.inner.prefetch([one for one in questions if self._watch.wanted(one)])

    def available(self) -> tuple[str, ...]:
        return ()


class _Told:
    """The machine; what is asked of it is told to those who look on, and a question without an answer is no silence."""

    kind: Kind = "live"

    def __init__(self, inner: Host, watch: Watch) -> None:
        self.inner = inner
        self.origin = inner.origin
        self._watch = watch

    def ask(self, question: str) -> Answer:
        self._watch.waiting = (question, self._watch.now())
        try:
            return self.inner.ask(question)
        finally:
            self._watch.waiting = None

    def prefetch(self, questions: Iterable[str]) -> None:
        self.inner.prefetch(questions)

    def available(self) -> tuple[str, ...]:
        return ()


def _lasts(question: str) -> bool:
    return not question.startswith("run ") and _CHANGES.search(question) is None


def place(question: str) -> str:
    """The part of the machine that a question is about: a DRM card, a PCI address, else the question itself."""
    found = _PLACE.search(question)
    return question if found is None else found[2] or found[3] or found[1]


def who(of: str, gpus: Iterable[Gpu]) -> str:
    """A place for people: ``gpu 3``, the program, or the folder."""
    for gpu in gpus:
        if of in (value_or(gpu.drm_card, ""), value_or(gpu.bdf, "")):
            return f"gpu {gpu.index}"
    if of.startswith("holders "):
        return "the processes of this machine"
    return "nvidia-smi" if of.startswith("run nvidia-smi") else of.split(" ", 1)[-1]


@dataclass(frozen=True, slots=True)
class Event:
    """Clocks were held down: when first and last (time of day), by what, and how often it began anew.

    ``kind``: heat, outside (a signal from outside the GPU) or power (a limit of power or current, normal under load).
    """

    gpu: str
    kind: str
    reasons: tuple[str, ...]
    first: str
    last: str
    at_s: float
    times: int = 1
    active: bool = True


class History:
    """The looks of one machine, in the order of ``add``; the last 600 of each GPU, and the events of all."""

    def __init__(self) -> None:
        self.sample: Sample | None = None
        self.events: list[Event] = []
        self.cpu: deque[CpuSensors] = deque(maxlen=KEPT)
        self._readings: dict[str, deque[Reading]] = {}
        self._counters: dict[str, Mapping[str, int]] = {}

    def add(self, sample: Sample) -> None:
        """One more look."""
        self.sample = sample
        self.cpu.append(sample.cpu)
        for gpu in sample.gpus:
            reading = reading_of(gpu, sample.at_s, self._grown(gpu, sample))
            self._readings.setdefault(key(gpu), deque(maxlen=KEPT)).append(reading)
            self._note(gpu, reading, sample)

    def of(self, gpu: Gpu) -> tuple[Reading, ...]:
        """The looks at a GPU, oldest first."""
        return tuple(self._readings.get(key(gpu), ()))

    def active(self, gpu: Gpu) -> tuple[Event, ...]:
        """What holds its clocks down at this moment."""
        return tuple(one for one in self.events if one.active and one.gpu == key(gpu))

    def _grown(self, gpu: Gpu, sample: Sample) -> tuple[str, ...]:
        card = value_or(gpu.drm_card, "")
        now = sample.residencies.get(card)
        if now is None:
            return ()
        before = self._counters.get(card, now)
        self._counters[card] = now
        return tuple(name for name, value in now.items() if value > before.get(name, value))

    def _note(self, gpu: Gpu, reading: Reading, sample: Sample) -> None:
        now = held_down((*reading.limits, *reading.slowed), reading.slowed)
        for at, one in enumerate(self.events):
            if one.gpu != key(gpu):
                continue
            reasons = now.pop(one.kind, ()) if one.active or sample.at_s - one.at_s < _AGAIN_S else ()
            if reasons:
                self.events[at] = replace(
                    one,
                    reasons=tuple(dict.fromkeys((*one.reasons, *reasons))),
                    last=sample.clock,
                    at_s=sample.at_s,
                    times=one.times + (not one.active),
                    active=True,
                )
            elif one.active:
                self.events[at] = replace(one, active=False)
        for kind, reasons in now.items():
            self.events.append(Event(key(gpu), kind, reasons, sample.clock, sample.clock, sample.at_s))
        del self.events[:-_MOST_EVENTS]


def held_down(reasons: Iterable[str], slowed: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The reasons for low clocks by kind: heat, outside, power.

    ``slowed``: those that cost speed. What a user set up, an idle GPU, and a flag of heat on a cool card are left out.
    """
    costly = tuple(dict.fromkeys(slowed))
    heat = tuple(one for one in costly if "thm" in one or one in heat_reasons(costly))
    outside = tuple(one for one in costly if one in external_reasons(costly) and one not in heat)
    everything = tuple(dict.fromkeys(reasons))
    others = {*heat_reasons(everything), *external_reasons(everything), *costly, *_ASKED_FOR}
    power = tuple(one for one in everything if one not in others)
    return {kind: names for kind, names in (("heat", heat), ("outside", outside), ("power", power)) if names}


def key(gpu: Gpu) -> str:
    """What a GPU is told by from look to look."""
    return value_or(gpu.bdf, "") or f"gpu {gpu.index}"


def merged(static: Iterable[Gpu], live: Iterable[Gpu]) -> tuple[Gpu, ...]:
    """The machine's GPUs with the values of a look; names, limits and sizes from the report where it has no own."""
    now = {key(one): one for one in live}
    return tuple(_merged(one, now[key(one)]) if key(one) in now else _unseen(one) for one in static) or tuple(
        now.values()
    )


def _merged(static: Gpu, live: Gpu) -> Gpu:
    from rocdoctor.model.evidence import first_known

    power = replace(
        live.power,
        cap_default_w=first_known(live.power.cap_default_w, static.power.cap_default_w),
        cap_max_w=first_known(live.power.cap_max_w, static.power.cap_max_w),
    )
    return replace(
        live,
        index=static.index,
        name=first_known(static.name, live.name),
        gfx=first_known(static.gfx, live.gfx),
        vram_bytes=first_known(live.vram_bytes, static.vram_bytes),
        power=power,
        max_clocks_mhz={**static.max_clocks_mhz, **live.max_clocks_mhz},
        shared_memory=static.shared_memory,
    )


def _unseen(static: Gpu) -> Gpu:
    """A GPU that sensors do not show: nothing of what the report saw counts as now."""
    return Gpu(
        static.index,
        static.vendor,
        bdf=static.bdf,
        name=static.name,
        gfx=static.gfx,
        vram_bytes=static.vram_bytes,
        driver=static.driver,
        runtime_status=static.runtime_status,
    )
