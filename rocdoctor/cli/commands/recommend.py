"""``rocdoctor recommend``: a training configuration for this machine, with reasons."""

from __future__ import annotations

import argparse

from rocdoctor.cli.main import EXIT_FINDINGS
from rocdoctor.host import output
from rocdoctor.service.errors import UsageError
from rocdoctor.service.planning import fleet_of, recommendation
from rocdoctor.service.session import print_json, wants, width
from rocdoctor.train.recommend.errors import SpecError


def run(options: argparse.Namespace) -> int:
    """Plan and print; exit status 1 when nothing fits."""
    kind = wants(options)
    if kind == "junit":
        raise UsageError("recommend prints text, json or markdown")
    if options.model is None:
        return _overview(options, kind)
    from rocdoctor.report.plan import recommend_json, recommend_markdown, recommend_text

    answer = recommendation(options)
    if kind == "json":
        print_json(recommend_json.as_json(answer))
    elif kind == "markdown":
        output.show(recommend_markdown.render(answer))
    else:
        output.show(recommend_text.render(answer, width()))
    return 0 if answer.plan is not None else EXIT_FINDINGS


def _overview(options: argparse.Namespace, kind: str) -> int:
    """Which popular models fit with which method, where no model was named."""
    from rocdoctor.report.plan import overview_text
    from rocdoctor.train.recommend.search.overview import overview

    for option in ("method", "framework", "global_batch", "lora_rank"):
        if getattr(options, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')} needs --model; without a model all methods are shown")
    try:
        found = overview(fleet_of(options), options.seq)
    except SpecError as error:
        raise UsageError(str(error)) from None
    if kind == "json":
        print_json(overview_text.as_json(found))
    elif kind == "markdown":
        output.show(overview_text.markdown(found))
    else:
        output.show(overview_text.text(found, width()))
    return 0
