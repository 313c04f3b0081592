"""``rocdoctor recommend``: a training configuration for this machine, with reasons."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass
from typing import get_args

from rocdoctor.cli.arguments import Named, evidence_arguments
from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.host import output
from rocdoctor.service.errors import UsageError
from rocdoctor.service.options import Format
from rocdoctor.service.planning import PlanOptions, recommendation, site_of, unfit_at
from rocdoctor.service.session import print_json, rendered
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.plan import Goal, Method, Products

HELP: str = "a training configuration for this machine, with reasons"
FORMATS: tuple[Format, ...] = ("text", "json", "markdown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(PlanOptions):
    """What is to be trained and on what, and two plans to be compared."""

    compare: tuple[str, ...] = ()


def plan_arguments(parser: ArgumentParser) -> None:
    """What is to be trained, and on what."""
    add = parser.add_argument_group("what is to be trained").add_argument
    add("--model", type=Named, metavar="NAME|config.json|k=v,...", help="a known model, its config.json, or its sizes")
    add("--method", choices=get_args(Method), help="how it is trained (pretrain)")
    add("--seq", type=int, metavar="N", help="tokens per sequence (4096; fine-tuning 2048)")
    add("--global-batch", type=int, metavar="N", help="sequences per step over all GPUs (the plan chooses)")
    add("--goal", choices=get_args(Goal), help="what to aim at (speed)")
    add("--framework", metavar="NAME", help="ddp, fsdp, deepspeed, torchtitan or megatron (the simplest that works)")
    add(
        "--products",
        choices=get_args(Products),
        default="16-bit",
        help="matrix products; fp8: Megatron-LM (16-bit)",
    )
    add("--lora-rank", type=int, metavar="R", help="rank of the adapters (16)")
    more = parser.add_argument_group("on what (this machine)").add_argument
    more("--gpus", metavar="8xMI300X", help="plan for a described node instead of this machine")
    more("--nodes", type=int, metavar="N", help="number of such nodes (1)")
    more("--ram", type=float, metavar="GIB", help="main memory of a described node")
    more("--measure", action="store_true", help="measure this machine's rates first (about a minute)")


def arguments(parser: ArgumentParser) -> None:
    """How they are written."""
    evidence_arguments(parser, FORMATS)
    plan_arguments(parser)
    parser.add_argument(
        "--compare",
        nargs=2,
        type=Named,
        metavar=("A", "B"),
        help="two plans side by side: files (specifications, or recommend --json), changes to these options "
        "(framework=megatron,nodes=2), or 'recommended'",
    )


def run(options: Options) -> int:
    """Plan and print; exit status 1 when nothing fits."""
    if options.compare:
        return _compared(options, *options.compare)
    if options.model is None:
        return _overview(options)
    from rocdoctor.report.plan import recommend_document, recommend_json
    from rocdoctor.service.emitting import with_programs

    answer = with_programs(recommendation(options, options.model)[0])
    if options.format == "json":
        print_json(recommend_json.as_json(answer))
    else:
        output.show(rendered(options, recommend_document.document(answer)))
    return 0 if answer.plan is not None else EXIT_FINDINGS


def _compared(options: PlanOptions, first: str, second: str) -> int:
    """Two plans side by side; exit status 1 where one of them does not exist."""
    from rocdoctor.report.plan import compare_document
    from rocdoctor.service.comparing import compared

    sides = compared(options, first, second)
    if options.format == "json":
        print_json(compare_document.as_json(*sides))
    else:
        output.show(rendered(options, compare_document.document(*sides)))
    return EXIT_FINDINGS if any(one.result is None for one in sides) else 0


def _overview(options: PlanOptions) -> int:
    """Which popular models fit with which method, where no model was named."""
    from rocdoctor.report.plan import overview_document
    from rocdoctor.train.recommend.search.overview import overview

    for option, given in (
        ("--method", options.method),
        ("--framework", options.framework),
        ("--global-batch", options.global_batch),
        ("--lora-rank", options.lora_rank),
    ):
        if given is not None:
            raise UsageError(f"{option} needs --model; without a model all methods are shown")
    try:
        site = site_of(options)
        found = overview(site.fleet, options.seq)
    except SpecError as error:
        raise UsageError(str(error)) from None
    if options.format == "json":
        print_json(overview_document.as_json(found))
    else:
        output.show(rendered(options, overview_document.document(found, unfit_at(site))))
    return 0
