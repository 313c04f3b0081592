"""The interpreter under test and its torch, as listings show them: collect_env, pip, conda, and sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from rocdoctor.collect.recorded_outputs import outputs
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import Fact, Known, Source, Unknown
from rocdoctor.model.facts import TorchBuild, TorchDevice
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.listings.collect_env import CollectEnv, parse_collect_env
from rocdoctor.parsers.own.statements import Statement, of_field, parse_stated
from rocdoctor.parsers.system.packages import Package, canonical_name, parse_conda_list, parse_pip_list

T = TypeVar("T")

COLLECT_ENV = "run python -m torch.utils.collect_env"


def listed_torch(host: Host) -> TorchBuild | None:
    """What the evidence shows of torch without the probe's answer; None where it shows nothing."""
    answer = host.ask(COLLECT_ENV)
    env = parse_collect_env(answer.text) if answer.ok else CollectEnv()
    packages, listing = _packages(host)
    stated = host.ask("stated")
    told = parse_stated(stated.text) if stated.ok else ()
    fields = ("torch", "torch_cuda", "torch_hip", "torch_archs", "python")
    if not (env.lines or packages or any(one.field in fields for one in told)):
        return None
    gap = Unknown("the text does not say", "not-asked")

    def fact(value: T | None, name: str) -> Fact[T]:
        return gap if value is None else Known(value, answer.source(env.lines.get(name)))

    names = dict(env.packages) | {canonical_name(one.name): one.version for one in packages if one.version}
    version: Fact[str | None] = _best(fact(env.torch, "torch"), _listed(packages, "torch", listing), told, "torch")
    archs = of_field(told, "torch_archs")
    listed = answer.source() if env.packages or listing is None else listing.source()
    return TorchBuild(
        interpreter=gap,
        python=_or_gap(_best(fact(env.python, "python"), gap, told, "python")),
        version=version,
        hip=_backend(env, "hip", version, answer, told),
        cuda=_backend(env, "cuda", version, answer, told),
        arch_list=Known(tuple((archs.value or "").split()), Source("text", archs.line)) if archs else gap,
        arch_list_complete=archs is not None,
        packages=Known(names, listed) if names else gap,
        devices=tuple(
            TorchDevice(index, Known(name, answer.source(line)), Known(gfx, answer.source(line)) if gfx else gap)
            for index, name, gfx, line in env.gpus
        )
        if env.available
        else (),
    )


def _or_gap(fact: Fact[str | None]) -> Fact[str]:
    if isinstance(fact, Known):
        return Unknown("the text does not say", "not-asked") if fact.value is None else Known(fact.value, fact.source)
    return fact


def _packages(host: Host) -> tuple[tuple[Package, ...], Answer | None]:
    for question in ("run pip list", "run pip freeze", "run conda list"):
        answer = host.ask(question)
        if answer.ok:
            parse = parse_conda_list if "conda" in question else parse_pip_list
            found = parse(answer.text) or _without_header(answer.text)
            if found:
                return found, answer
    for _, answer in outputs(host, "pip"):
        found = parse_pip_list(answer.text)
        if found:
            return found, answer
    return (), None


def _without_header(text: str) -> tuple[Package, ...]:
    """The rows of `pip list | grep ...`, whose header is gone."""
    return tuple(replace(one, line=one.line - 1) for one in parse_pip_list("Package Version\n" + text))


def _listed(packages: tuple[Package, ...], name: str, listing: Answer | None) -> Fact[str]:
    for one in packages:
        if canonical_name(one.name) == name and one.version and listing is not None:
            return Known(one.version, listing.source(one.line))
    return Unknown("the text does not say", "not-asked")


def _best(first: Fact[str], second: Fact[str], told: tuple[Statement, ...], field: str) -> Fact[str | None]:
    for fact in (first, second):
        if isinstance(fact, Known):
            return Known(fact.value, fact.source)
    said = of_field(told, field)
    return Known(said.value, Source("text", said.line)) if said else Unknown("the text does not say", "not-asked")


def _backend(
    env: CollectEnv, name: str, version: Fact[str | None], answer: Answer, told: tuple[Statement, ...]
) -> Fact[str | None]:
    """With what torch was built; the local part of its version ("+rocm6.2", "+cu121", "+cpu") tells too."""
    value = env.hip if name == "hip" else env.cuda
    line = answer.source(env.lines.get("rocm" if name == "hip" else "cuda"))
    if value is not None:
        return Known(value, line)
    if name in env.without:
        return Known(None, line)
    said = of_field(told, f"torch_{name}")
    if said is not None:
        return Known(said.value, Source("text", said.line))
    if isinstance(version, Known) and version.value and "+" in version.value:
        local = version.value.split("+", 1)[1]
        rocm, cuda = local.startswith("rocm"), local.startswith("cu")
        if name == "hip" and rocm:
            return Known(local[4:], version.source)
        if name == "cuda" and cuda and whole_number(local[2:]) is not None:
            return Known(f"{local[2:-1]}.{local[-1]}", version.source)
        if rocm or cuda or local == "cpu":
            return Known(None, version.source)
    return Unknown("the text does not say with what torch was built", "not-asked")
