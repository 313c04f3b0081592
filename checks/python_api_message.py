"""A Python package uses a name from another package that the installed release does not have.

Why
  accelerate, transformers, peft, huggingface_hub, torch and the packages around them are released separately, and
  each release removes names and adds new ones. A package that was written for another release of its dependency
  ends with "cannot import name", "has no attribute" or "No module named". The driver and the GPU are not involved.

Fix
  Install the release of the dependency that the package was written for, or a newer release of the package. Install
  both in one command, so that pip considers what each of them requires.

References
  https://docs.python.org/3/library/exceptions.html#ImportError
  https://github.com/huggingface/huggingface_hub/releases
  https://github.com/huggingface/transformers/releases
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import said, shown, when_said
from rocdoctor.judging.check import Confidence, Finding, Fix, Outcome, Severity, check, finding
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.software.python_api import ApiMove, api_move, api_packages
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.shell_command import shell

_KINDS = ("python-name-absent", "python-attribute-absent", "python-module-absent")
# Further packages whose releases have to fit their users; names of other ones are judged by where their files lie.
_NEIGHBOURS = frozenset(
    (
        *("flash_attn", "xformers", "triton", "vllm", "bitsandbytes", "tokenizers", "datasets", "safetensors", "timm"),
        *("torchmetrics", "optimum", "auto_gptq", "sentence_transformers", "unsloth", "axolotl", "sglang", "megatron"),
        *("apex", "lightning", "torchao", "torchdata", "gradio", "pydantic"),
    )
)
_IN_PARTS = frozenset(("apex", "megatron", "optimum"))  # some wheels or builds hold a part of their modules only


@check(when_said(*_KINDS), cause="python-package-mismatch")
def python_api_message(machine: Machine) -> Outcome:
    found: dict[tuple[str, str], Finding] = {}
    for message in said(machine, *_KINDS):
        one = _judge(machine, message)
        if one is not None:
            found.setdefault((str(message.values.get("module")), str(message.values.get("name", ""))), one)
    return list(found.values())[:3]


def _judge(machine: Machine, message: Message) -> Finding | None:
    module, name = str(message.values["module"]), str(message.values.get("name", ""))
    package, importer = module.partition(".")[0], str(message.values.get("importer", ""))
    path = str(message.values.get("path", "")).replace("\\", "/")
    foreign = not path or "-packages/" in path or f"/{package}/" in path
    move = _holding(machine, api_move(module, name))
    if not foreign or (move is None and message.kind == "python-module-absent" and not _submodule(module, importer)):
        return None  # a file of the writer's own has that name, or a package is not installed
    installed = "-packages/" in path or importer not in ("", package)  # an installed package imports installed ones
    if move is None and package not in api_packages() and package not in _NEIGHBOURS and not installed:
        return None
    if move is None and package == importer:
        return None  # files of one package: no matter of two releases
    who = importer if importer and importer != package else ""
    pip = move.pip if move is not None else api_packages().get(package, package)
    severity: Severity = "error" if move is not None and "error" in message.values else "warning"
    confidence: Confidence = "likely" if move is not None or who else "possible"
    return finding(
        severity,
        _sentence(f"{module}.{name}".strip("."), pip, who, move, _installed(machine, pip)),
        evidence=shown([message]),
        fix=_fix(pip, who, move),
        confidence=confidence,
    )


def _submodule(module: str, importer: str) -> bool:
    """Another package imports it below one that is installed: Python names the package alone where that is absent."""
    package, _, below = module.partition(".")
    known = package in api_packages() or package in _NEIGHBOURS - _IN_PARTS
    public = all(one[:1] not in ("", "_") for one in below.split("."))
    return known and importer not in ("", package) and public


def _installed(machine: Machine, pip: str) -> str:
    packages = value_or(machine.torch.packages, {})
    known = packages.get(pip) or packages.get(pip.replace("_", "-")) or ""
    return (value_or(machine.torch.version, None) or known) if pip == "torch" else known


def _holding(machine: Machine, move: ApiMove | None) -> ApiMove | None:
    """The row, unless the installed release is known and on the other side of it."""
    if move is None or not move.release:
        return move
    installed, release = numbers(_installed(machine, move.pip)), numbers(move.release)
    return None if installed and (installed >= release) is not move.gone else move


def _user(who: str, move: ApiMove | None) -> str:
    """Who uses the name, with the releases where the table knows them."""
    known = {one: since for one, since in (move.users if move is not None else {}).items() if who in ("", one)}
    words = "before {}" if move is not None and move.gone else "{} and newer"
    return " or ".join(f"{one} ({words.format(since)})" for one, since in known.items()) or who


def _sentence(what: str, pip: str, who: str, move: ApiMove | None, version: str) -> str:
    here = f"the installed {pip} {version}".rstrip()
    user = _user(who, move)
    user = user if who else f"The program, or {user}," if user else "The program"
    if move is None:
        why = f"{who} and {pip} are not compatible" if who else f"the program was written for another release of {pip}"
        return f"{user} uses {what}, which {here} does not have: {why}."
    if move.gone:
        since = f"{pip} {move.release} and newer no longer have" if move.release else f"newer releases of {pip} lack"
        instead = f" (today {move.use})" if move.use else ""
        return f"{user} uses {what}{instead}, which {since}: {here} is too new for it."
    since = f"came with {pip} {move.release}" if move.release else f"only newer releases of {pip} have"
    return f"{user} uses {what}, which {since}: {here} is too old for it."


def _fix(pip: str, who: str, move: ApiMove | None) -> Fix:
    torch = " (with torchvision and torchaudio, from one wheel index)" if pip == "torch" else ""
    if move is None:
        names = f"{who} {pip}" if who else pip
        return Fix(
            f"Install releases that were made for each other: {names} as the requirements of the program name them, or "
            f"both at their newest, in one command{torch}",
            shell("python -m pip show {names}", names=names.split()),
            "safe",
        )
    sign = ">=" if move.gone else "<"
    others = [f'"{one}{sign}{since}"' for one, since in move.users.items() if who in ("", one)]
    bound = f"{pip}{'<' if move.gone else '>='}{move.release}" if move.release else pip
    if move.gone:
        wanted = f'Install "{bound}"' if move.release else f"Install the release of {pip} that the program names"
        update = " or ".join(others) or (who or "the package that the traceback names")
        return Fix(f"{wanted}{torch}, or update {update}", shell("python -m pip install {bound}", bound=bound), "risky")
    wanted = f'Install "{bound}" or newer' if move.release else f"Update {pip}"
    older = " or ".join(others) or f"an older release of {who or 'the package that the traceback names'}"
    return Fix(f"{wanted}{torch}, or take {older}", shell("python -m pip install -U {bound}", bound=bound), "risky")
