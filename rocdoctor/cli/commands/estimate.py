"""``rocdoctor estimate``: memory and speed of one training configuration."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import dataclass
from typing import Any

from rocdoctor.cli.arguments import Named, evidence_arguments
from rocdoctor.host import output
from rocdoctor.report.plan.estimate_document import document
from rocdoctor.service.errors import UsageError
from rocdoctor.service.options import EvidenceOptions, Format
from rocdoctor.service.plan_trials import spec_with_trials
from rocdoctor.service.session import print_json, rendered
from rocdoctor.service.specification_files import load_spec
from rocdoctor.train.recommend.estimate import Result, SpecError, answer_of, efficiency, solve

HELP: str = "memory and speed of one training configuration"
FORMATS: tuple[Format, ...] = ("text", "json", "markdown")
# A trace takes seconds; importing torch from a cold disk can take a minute.
_TRACE_LIMIT_S = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EvidenceOptions):
    """The specification (a file), and whether a step is traced."""

    spec: str
    trace: bool = False


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    add = parser.add_argument
    add("spec", type=Named, metavar="SPEC.yaml", help="the configuration, or what recommend --json printed")
    add("--trace", action="store_true", help="trace one step's memory with the torch of --python (no GPU needed)")


def _traced(one: Result, python: str | None, trust_python: bool) -> tuple[Result, dict[str, Any]]:
    """The estimate with the traced memory where a trace can be had, and what the answer says of it."""
    from rocdoctor.host.live.memory_tracing import trace_memory
    from rocdoctor.train.recommend.memory import trace

    why = trace.refusal(one.work)
    if why is None:
        answer = trace_memory(python, trace.request(one.work), _TRACE_LIMIT_S, trust_python)
        told = trace.heard(answer, one.work.model.layers)
        if isinstance(told, trace.Traced):
            merged = trace.merged(one, told, efficiency()["memory"])
            return merged, trace.described(merged, told)
        why = told
    return one, trace.unavailable(why)


def _answer(options: Options) -> dict[str, Any]:
    spec = spec_with_trials(load_spec(options.spec))
    one = solve(spec)
    read = {"spec": json.loads(json.dumps(spec, default=str))}
    if not options.trace:
        return {**answer_of(one), **read}
    one, trace = _traced(one, options.python, options.trust_interpreter)
    return {**answer_of(one), **read, "trace": trace}


def run(options: Options) -> int:
    """Read the specification, print the answer."""
    try:
        answer = _answer(options)
    except OSError as error:
        raise UsageError(f"{error.filename or options.spec}: {error.strerror}") from None
    except SpecError as error:
        raise UsageError(f"{options.spec}: {error}") from None
    if options.format == "json":
        print_json(answer)
        return 0
    output.show(rendered(options, document(answer)))
    return 0
