"""Environment variables of a plan, as an env file (containers, systemd) and as shell exports, each with its reason."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence

from rocdoctor.train.emit.files import File, comment, plain
from rocdoctor.train.emit.launcher import model_words
from rocdoctor.train.emit.targets import Order
from rocdoctor.train.recommend.environment import VISIBILITY, after_a_test, by_node, for_diagnosis, for_fleet
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.plan import Fleet, Plan, Setting

FRAMEWORKS: tuple[Framework, ...] = ("fsdp2", "ddp", "deepspeed", "fsdp1", "megatron")


def refuses(work: Work) -> str | None:
    """Variables change no size of a configuration, so none is refused."""
    del work
    return None


def files(plan: Plan, order: Order) -> Sequence[File]:
    """Shell exports and an env file of the same variables."""
    del order
    head = f"written by rocdoctor for {model_words(plan)} on {plan.fleet.name}"
    return _pair(head, plan.environment, lambda line: list(_aside(plan, line)))


def bare(fleet: Fleet) -> Sequence[File]:
    """The variables that help on a fleet whatever is trained."""
    return _pair(f"written by rocdoctor for {fleet.name}", for_fleet(fleet), lambda line: [])


_Line = Callable[[Setting], str]


def _pair(head: str, found: Sequence[Setting], aside: Callable[[_Line], list[str]]) -> Sequence[File]:
    shell, listed = [*comment(head), "# read it with:  . ./rocdoctor-env.sh"], [*comment(head)]
    shell += [*lines(found, export), *aside(export)]
    listed += [*lines(found, _bare_line), *aside(_bare_line)]
    if not found:
        nothing = "# nothing is needed here: the defaults of torch fit this machine"
        shell.append(nothing)
        listed.append(nothing)
    return (File("rocdoctor-env.sh", "\n".join(shell) + "\n"), File("rocdoctor.env", "\n".join(listed) + "\n"))


def export(one: Setting) -> str:
    """A variable as the line of a shell; GPUs that are chosen already stay chosen."""
    line = f"export {one.name}={shlex.quote(plain(one.value))}"
    if one.name not in VISIBILITY:
        return line
    chosen = "".join(f"${{{name}:-}}" for name in VISIBILITY)
    return f'[ -n "{chosen}" ] || {line}'


def _bare_line(one: Setting) -> str:
    # Readers of env files take quotes for a part of the value.
    return f"{one.name}={plain(one.value)}"


def lines(found: Iterable[Setting], line: _Line) -> Iterator[str]:
    """Each variable below its reason."""
    for one in found:
        yield from comment(one.reason)
        yield line(one)


def _aside(plan: Plan, line: _Line) -> Iterator[str]:
    """What is not set: behind a comment sign, with what to do or to know first."""
    for one in after_a_test(plan):
        yield from ("", *comment(f"not set: {one.reason}"), f"# {line(one)}")
    told = by_node(plan)
    if told:
        yield from ("", "# left to you, because it may differ from node to node:")
        for sentence in told:
            yield from comment(sentence)
    traces = for_diagnosis(plan)
    if traces:
        yield from ("", "# only to find out why a run hangs:")
        for one in traces:
            yield from (*comment(one.reason), f"# {line(one)}")
