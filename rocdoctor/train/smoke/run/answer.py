"""The answer to ``smoke SET ...`` on this machine."""

from __future__ import annotations

import os
import shlex

from rocdoctor.host.base import Answer, normalise
from rocdoctor.host.live.interpreter import NO_INTERPRETER, interpreter_of_root
from rocdoctor.host.live.live_host import LiveHost
from rocdoctor.host.live.programs import interpreter_environment, own_environment_with_torch
from rocdoctor.parsers.own.smoke_results import to_text
from rocdoctor.train.smoke.run.pool import PoolError
from rocdoctor.train.smoke.run.rank_sets import PlanError
from rocdoctor.train.smoke.run.request import Aside, perform, request_of


def run_smoke(host: LiveHost, question: str) -> Answer:
    """Run smoke tests in this thread; ``host.aside`` is their ``Aside`` or None."""
    interpreter, why = interpreter_of_root(host.python, host.trust_python)
    if interpreter is None:
        return Answer(question, "absent" if why == NO_INTERPRETER else "failed", note=why)
    aside = host.aside if isinstance(host.aside, Aside) else None
    try:
        surroundings = None if host.trust_python else interpreter_environment(os.environ)
        runs = perform(request_of(question), interpreter, host.told, aside, surroundings)
    except PoolError as problem:
        return Answer(question, "failed", note=f"{interpreter}: {problem}" + _advice(problem, host.python, interpreter))
    except (PlanError, ValueError) as problem:
        return Answer(question, "failed", note=str(problem))
    return Answer(question, "ok", normalise(to_text(runs).encode()), 0)


def _advice(problem: PoolError, named: str | None, interpreter: str) -> str:
    """What to do where ranks cannot be started. Who called rocdoctor by its path may mean the torch beside it."""
    if problem.machine:
        return ""
    own = own_environment_with_torch()
    if own and not named and os.path.dirname(os.path.dirname(interpreter)) != own:
        return f"; the environment that rocdoctor runs in has torch: add --python {shlex.quote(own)}"
    return "; name another interpreter with --python"
