"""Environment variables in a text: shell lines, options of launchers, Python, YAML, library logs, and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rocdoctor.knowledge.software.env_variables import env_names, env_variable
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.system.env_text import parse_shell
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.passage_roles import Role, role_of_block, role_of_setting, sentence_around
from rocdoctor.paste.shell_sections import ShellSection
from rocdoctor.paste.text_part import TextPart
from rocdoctor.paste.word_index import WordIndex, ascending

_MAX_SETTINGS = 5000
# Prefixes of the libraries and launchers of this field: names below them count also where no table has them.
_PREFIXES = (
    "HSA_",
    "HIP_",
    "ROCR_",
    "ROCM_",
    "ROC_",
    "AMD_",
    "GPU_",
    "CUDA_",
    "NVIDIA_",
    "NCCL_",
    "RCCL_",
    "PYTORCH_",
    "TORCH_",
    "TORCHINDUCTOR_",
    "TRITON_",
    "MIOPEN_",
    "HIPBLASLT_",
    "ROCBLAS_",
    "TENSILE_",
    "OMP_",
    "MKL_",
    "KMP_",
    "UCX_",
    "FI_",
    "GLOO_",
    "TF_",
    "XLA_",
    "DS_",
    "ACCELERATE_",
    "OMPI_",
    "LD_",
    "MIGRAPHX_",
    "HF_",
    "TOKENIZERS_",
    "VLLM_",
    "FLASH_",
    "MASTER_",
    "WORLD_",
    "LOCAL_",
)
# A name with an underscore and what binds a value to it: the set of letters in front is cheap to search for.
_NAME = r"[A-Z](?<![A-Za-z0-9_][A-Z])[A-Z0-9]{0,30}_[A-Z0-9_]{1,60}"
_CANDIDATE = regex(_NAME + r"(?:['\"]?\]?\s{0,3}[=:,]|\s(?:set|is|to|was)\b)")
# The same in a line, where what binds the value may stand on the next one.
_NAMED = regex(_NAME + r"(?:['\"]?\]?\s{0,3}(?:[=:,]|\Z)|\s(?:set|is|to|was)\b)")
_COMMANDS = ("setenv", "unset", "env", "name:")
_COMMAND = regex(r"\b(?:setenv|unset|ENV|name:)(?:\s|\Z)")
_SHELL = regex(
    r"\s{0,24}(?:[$#>%+-]{1,2}\s{1,3}){0,2}(?:\S{1,60}[$#]\s)?(?:(?:export|setenv|declare -x|set -gx|"
    r"set -x|ENV|env|unset|sudo)\s|[A-Za-z_][A-Za-z0-9_]{1,60}=)"
)
_PROMPT = regex(
    r"\s{0,12}(?:\([\w. -]{1,40}\) ?)?(?:\[?[\w.-]{1,40}@[\w.-]{1,60}[: ][^$#\n]{0,120}[$#]|[$%❯➜+#])\s{1,4}(?=\S)"
)
_WINDOWS = regex(
    r"(?:\$env:|(?:^\s{0,12}|[A-Z]:[^>]{0,120}>\s?)set )([A-Z][A-Z0-9_]{2,60})\s?=\s?['\"]?([^\s'\"]{1,400})",
    re.IGNORECASE,
)
_OPTION = regex(
    r"(?:^|\s)(?:-e|--env|-x|--genv|-genv)[= ]\s{0,3}['\"]?([A-Za-z_][A-Za-z0-9_]{1,80})"
    r"=(\"[^\"]{0,400}\"|'[^']{0,400}'|[^\s'\"\\]{0,400})"
)
_PYTHON = regex(
    r"environ(?:\.setdefault\(|\[)\s?['\"]([A-Z][A-Z0-9_]{1,80})['\"]\s?(?:,|\]\s?=(?!=))\s?(?:str\()"
    r"?['\"]?([^'\")\s]{0,400})"
)
_YAML_ITEM = regex(r"\s{0,40}-\s{1,4}['\"]?([A-Z][A-Z0-9_]{2,80})=([^'\"\s]{0,400})['\"]?\s*\Z")
_YAML_PAIR = regex(
    r"\s{2,40}['\"]?([A-Z][A-Z0-9_]{2,80})['\"]?:\s{1,4}['\"]?([^'\"\s#]{1,400})['\"]?\s*(?:,\s*)?(?:#.{0,200})?\Z"
)
_YAML_NAME = regex(r"\s{0,40}(?:-\s{1,4})?name:\s{1,4}['\"]?([A-Z][A-Z0-9_]{2,80})['\"]?\s*\Z")
_YAML_VALUE = regex(r"\s{0,40}value:\s{1,4}['\"]?([^'\"\s#]{0,400})['\"]?")
# "map[A:1 B: C:2]", as Go prints variables: a line of it has many names, and one that nothing follows has no value.
_IN_MAP = regex(r"(?<![^\s\[])([A-Za-z]\w{0,40}_\w{1,60}):(\S{0,400})")
_MAP_LEAST = 3
_NAME_ALONE = regex(r"[A-Za-z]\w{0,40}_\w{1,60}:")
_BY_LIBRARY = regex(r"\b((?:NCCL|RCCL)_[A-Z0-9_]{2,60}) set by environment to (\S{1,400}?)\.?\s*\Z")
_UNIT = regex(r"(?:Environment=|--export=\S{0,200}?,)\"?([A-Z][A-Z0-9_]{2,80})=([^\s\",]{0,400})")
_SENTENCE = regex(
    r"(?<![A-Za-z0-9_$%{/])([A-Z][A-Z0-9]{0,30}_[A-Z0-9_]{1,60})['\"]?(?:\s?={1}\s?(?!=)|:\s|\s(?:is |"
    r"was |being |env(?:ironment)? variable )?(?:set )?to\s)['\"]?([^\s'\"`,;()\[\]{}]{1,200})"
)
_ECHO = regex(r"echo\s+[\"']?\$\{?([A-Z][A-Z0-9_]{2,80})\}?[\"']?\s*\Z")
_SET_BY_HAND = regex(r"\A\W*(?:set|use|export|run|add|enable|pass|unset|re-?run|start)\b", re.IGNORECASE)
_PLACEHOLDER = regex(
    r"\A(?:<.*|\.{2,}|x+|X\.X.*|\?+|\$.*|…|value|\{.*|an?|the|some|any|its|your|my|this|that|different|empty)\Z"
)
# What a variable that lists GPUs can hold. "Sets ROCR_VISIBLE_DEVICES to GPU indices" gives no value.
_LISTS_GPUS = regex(r"(?:\w{1,20}_)?VISIBLE_DEVICES\Z|GPU_DEVICE_ORDINAL\Z")
_GPU_LIST = regex(r"-?\d{1,4}|(?:GPU|MIG)-[0-9a-f][\w/-]{0,200}|all|none|void|NoDevFiles", re.IGNORECASE)

# "With NAME=1:" above an output, and "with NAME=1 the trace points to ...": one run, made to see more.
_FOR_ONE_RUN = regex(
    r"\b(?:with|using|under|sett?ing|exporting|enabling|(?:i|we) (?:set|exported|enabled))\s(?:\S{1,40}\s){0,4}\Z",
    re.IGNORECASE,
)
_WHAT_IT_SHOWED = regex(
    r".{0,120}:\s*\Z|\S?\W{0,3}(?:\w+\s){0,6}(?:stack|trace(?:back)?|logs?|output|error|exception|message|shows?|prints?|says|"
    r"points?|gives?|gives me|i (?:get|got|see))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TextSetting:
    """One variable as a line (index) sets it; ``value`` None: taken away. ``spoken``: in a sentence, not in code."""

    name: str
    value: str | None
    line: int
    role: Role
    spoken: bool = False


def is_known(name: str) -> bool:
    """Whether a name is one of this field."""
    return name.startswith(_PREFIXES) or name in env_names()


def settings(clean: Clean, found: list[ShellSection], index: WordIndex) -> list[TextSetting]:
    """Every setting, in the order of the text."""
    result = list(_of_lines(clean, index))
    for section in found[:2000]:
        match = _ECHO.search(section.command[:300])
        if match:
            for at in range(section.first, min(section.end, section.first + 3)):
                value = clean.lines[at].strip()
                if value and " " not in value:
                    result.append(TextSetting(match[1], value, at, "now"))
                    break
    return sorted(result, key=lambda one: one.line)


def _of_lines(clean: Clean, index: WordIndex) -> Iterator[TextSetting]:
    count = 0
    named = (at for at in clean.alike.where(_NAMED.search) if _is_candidate(clean, at))
    commands = (at for at in index.lines(_COMMANDS) if _COMMAND.search(clean.lines[at]))
    for at in ascending(named, commands):
        for one in _of_line(clean, at):
            if one.value is None or not _PLACEHOLDER.match(one.value):
                yield one
                count += 1
        if count > _MAX_SETTINGS:
            return


def _is_candidate(clean: Clean, at: int) -> bool:
    """Whether a name on a line (index) has a value, on that line or behind its end."""
    line = clean.lines[at]
    if _CANDIDATE.search(line):
        return True
    found = _CANDIDATE.search("\n".join(clean.lines[at : at + 4]))
    return found is not None and found.start() < len(line)


def _of_line(clean: Clean, at: int) -> Iterator[TextSetting]:
    line = clean.lines[at][:4000]
    found: list[tuple[str, str | None]] = []
    printed = list(_IN_MAP.finditer(line)) if "map[" in line or line.count(":") >= _MAP_LEAST else []
    if len(printed) >= _MAP_LEAST or (printed and "map[" in line):
        block = role_of_block(clean, at, at, setting=True)
        for one in printed:
            if (value := one[2].rstrip("]\"'")) and is_known(one[1]):
                yield TextSetting(one[1], value, at, "other" if block == "other" else "now")
        return
    library = _BY_LIBRARY.search(line) if " set by environment to " in line else None
    if library:
        block = role_of_block(clean, at, at, setting=True)
        yield TextSetting(library[1], library[2], at, "other" if block == "other" else "now")
        return
    for pattern, sign in ((_OPTION, "-"), (_PYTHON, "environ"), (_UNIT, "="), (_WINDOWS, "=")):
        if sign in line:
            found += [(one[1], one[2].strip("'\"")) for one in pattern.finditer(line)]
    item = _YAML_ITEM.match(line) or _YAML_PAIR.match(line)
    if item and is_known(item[1]):
        found.append((item[1], item[2]))
    name = _YAML_NAME.match(line)
    if name and at + 1 < len(clean.lines) and (value := _YAML_VALUE.match(clean.lines[at + 1])):
        found.append((name[1], value[1]))
    if not found and _SHELL.match(line):
        prompt = _PROMPT.match(line)
        shell = line[prompt.end() :] if prompt else line
        code = bool(prompt) or clean.blocks[at] > 0 or line.startswith("    ")
        told = parse_shell(shell.lstrip("$ "))
        # "NAME=value makes it work" is a sentence that begins with a setting.
        if code or len(shell.split()) <= 1 + len(told) or shell.lstrip().startswith(("export", "setenv", "ENV")):
            found += [(one.name, one.value) for one in told]
    if found:
        block = role_of_block(clean, at, at, setting=True)
        for key, setting in found:
            yield TextSetting(key, setting, at, block)
        return
    for one in _SENTENCE.finditer(line):
        if not is_known(one[1]) or ("=" not in one[0][len(one[1]) : len(one[1]) + 4] and one[1] not in env_names()):
            continue
        if _NAME_ALONE.match(one[2]):
            continue
        if _LISTS_GPUS.match(one[1]) and "=" not in one[0] and not _GPU_LIST.fullmatch(one[2].rstrip(".:!?")):
            continue
        before, after = sentence_around(clean, at, one.start(), one.end())
        role = role_of_setting(before, after)
        if role == "now" and (_SET_BY_HAND.match(before.strip() + " " + one[1]) and before.strip()):
            role = "advice"
        if role == "now" and _is_for_one_run(one[1], before, one[2][-1:] + after):
            role = "tried"
        block = role_of_block(clean, at, at, setting=True)
        if block == "other" or at in clean.guides:
            role = block
        yield TextSetting(one[1], one[2].rstrip(".:!?"), at, role, spoken=True)


def _is_for_one_run(name: str, before: str, after: str) -> bool:
    """Whether a sentence says that a switch for debugging was set for the run whose output it speaks of."""
    entry = env_variable(name)
    if entry is None or entry.status != "debug-only" or not _FOR_ONE_RUN.search(before[-200:]):
        return False
    return bool(_WHAT_IT_SHOWED.match(after[:400]))


def parts(found: list[TextSetting]) -> Iterator[TextPart]:
    """The settings as answers to ``env``: one part of those that hold now, and one of each other role.

    Of several values of one name the last one in code counts, else the last that a sentence gives.
    """
    held: dict[str, TextSetting] = {}
    for one in found:
        if one.role != "now":
            continue
        if one.value is None:
            held.pop(one.name, None)
        elif one.name not in held or held[one.name].spoken or not one.spoken:
            held[one.name] = one
    for role in ("now", "tried", "advice", "other"):
        chosen = (
            list(held.values())
            if role == "now"
            else [one for one in found if one.role == role and one.value is not None]
        )
        chosen.sort(key=lambda one: one.line)
        if chosen:
            body = "\n".join(f"{one.name}={one.value}" for one in chosen)
            yield TextPart("env", body, tuple(one.line + 1 for one in chosen), role)
