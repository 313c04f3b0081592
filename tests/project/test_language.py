"""Words that a native reader stumbles over: what users see says it the usual way.

The list grows with each stumble; a pattern has the better wording beside it, which the failure names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import ROOT

# What is looked for -> what to write.
BETTER = {
    r"(?<!here )\b(?:is|are|was|were) no (?:CUDA|ROCm|CPU|PCI|regular|whole|usable|fault|proof|process|container|number"
    r"|terminal|text|profile|GPU\b|target|multiple|command that|address|size|part|time between|tool|drift)": "is not a",
    r"(?<!, )\bunlike (?:GPUs|cards|collectives|sizes?|names|links|kinds|releases|versions|builds|machines|numbers"
    r"|modes|shapes?|order|architectures?|targets?|types?|variables|transports)\b": "different ...",
    r"\b(?:says?|tells?) nothing of:": "not covered by ...: ",
    r"\ban error of the system\b": "a system error",
    r"\bagainst a return\b": "to keep it from happening again",
    r"\bneeds? (?:this|that|the) \w+ no more\b": "no longer needs ...",
    r"\bcorrected errors leave results\b": "do not affect results",
    r"\bmet errors\b": "had errors, reported errors",
    r"\bof the kind of\b": "such as ...",
    r"\b[Ll]ook whether\b": "check whether",
    r"\bholds no kernels\b": "has no kernels",
    r"\banother number of\b": "a different number of",
    r"\bgoes on (?:with|over) (?:the CPU|TCP)\b": "falls back to",
    r"\bcontrol groups of (?:version|this|its)\b|\bits control groups\b": "cgroup v2, cgroups",
    r"\b[Ss]eat(?:ed)? (?:the card |it )(?:again|anew)\b": "reseat",
    r"\bfree of another\b": "keep other releases off ...",
    r"\bfor a try\b": "try ... with",
    r"\banswer(?:s|ed)? no [\w ]{1,20} any more\b": "stopped answering",
    r"(?<![-\"])\banew\b": "again, re-...",
    r"\bwhat [\w ]{1,40}\bsays? of\b": "says about",
    r"\b(?:source|nothing|evidence|text|one) (?:in this evidence )?tells\b[\"',.;]": "says so, shows it",
    r"\b[Mm]end (?:it|that|the|this|\{it\})\b|\bmend first\b|\bbe mended\b": "fix, repair",
    r"\bwaits? (?:for \w+ \w+ )?for ever\b": "forever",
    r"\bLook (?:who|what)\b": "see who",
    r"\b(?:ranks?|s|GB) a (?:node|step)\b": "per node, per step",
    r"\btells it\b": "shows it, reports it",
    r"\b(?:does|did) not tell\b[\"',.;]|\bdoes not tell the\b": "does not say, does not show",
    r"\bmay be read by root alone\b": "only root can read",
    r"\binside of (?!an? )": "inside",
    r"\bin small\b[,.]": "on a small scale",
    r"\bGPUs? of (?:an? )?(?:AMD|NVIDIA)\b(?! Inst)": "AMD GPU, NVIDIA GPU",
    r"\bend of (?:its|their) life\b": "has reached end of life",
    r"\bcompared numbers\b": "computes correctly",
    r"\b[Tt]o know more\b": "to find out more",
    r"\bonly little\b": "little, only a little",
    r"\bholds? (?:no )?code for\b": "has (no) code for",
    r"\bleave away\b": "leave out",
    r"\b(?:supply|cables|cooling|breaker) (?:may )?gives? in\b": "fail",
    r"\bsee to (?:its|the|power)\b": "check",
    r"\b(?:tokens/s|GiB|FLOP) a (?:GPU|node|rank|token|parameter)\b|\ba step and GPU\b": "per GPU, per step",
    r"\b(?:can|may) be planned with\b": "available to a plan",
    r"\bback ends?\b": "backend, as --backend",
    r"\btorch and its companions\b": "companion packages",
    r"\bit is to be done by hand\b": "it has to be done by hand",
    r"\bthe memory of the CPU\b": "CPU memory, main memory",
    r"\b(?:means|text|fix): '(?:Somebody tells|Look into)\b": "the writer says, check",
    r"\b(?:[Uu]ser|account|[Pp]rocess|container|service|sandbox) may not (?:open|read|use|load|listen)\b": "cannot",
    r"\bthe own (?:user|name|host|code|address)\b": "your own, its own",
    r"(?<!\w )\bWho (?:is|has|wants|needs) [\w ]{3,40} (?:sees|commands|gets)\b": "A user who, Whoever",
    r"\bstands (?:in|at|behind|beside|above|below|before|twice|on) (?:the|this|it|an?|its|no|all)\b": "is in",
    r"\b(?:libraries|library|file|key|firmware|record) lies (?:in|on|under|at)\b": "is in",
    r"\bcannot be told (?:which|whose|at)\b": "it is not clear",
    r"\btells? (?:why|whether|when)\b": "shows, says",
    r"\bmostly\b(?! (?:of|told|in words))": "usually",
    r"\bof another (?:version|release|build) than\b|\banother (?:release|torch|target|kernel) than\b": "different",
    r"\b(?:wheels?|torch|packages?|driver|image|container) brings? (?:its|their|no|the|all|another|ROCm)\b": "includes",
    r"\btakes? risers away|\btakes? the \w+ away\b": "remove",
    r"\bin place of (?!14)": "instead of",
    r"\b(?:driver|kernel|job|program|log|rest|threads|backward pass) goes? on\b": "continues",
    r"\bfor want of\b": "for lack of, because ... is missing",
    r"\b(?:root|CUDA|CPU|FSDP2|Windows) alone\b(?! (?:can|is|has))": "only",
    r"\b[Tt]ake (?:a|an|the|another) (?:newer |older )?(?:build|wheel|index|image|release|driver)\b(?! out)": "use",
    r"\b(?:registered|register) at the NVLink\b": "registered with",
    r"\bset-up for\b|\bSet-up for\b": "setup",
    r"\bis written over\b|\bwrite over files\b": "overwritten",
    r"\bdoes not go with --\w+|\bgoes neither with\b": "cannot be used with",
    r"\bnot fit for a job as\b": "cannot run a job",
    r"\bequal (?:GPUs?|cards?)\b": "identical",
    r"\ba sound (?:link|machine|text)\b": "healthy",
    r"\bsays? nothing of\b": "about",
    r"\boutside of (?:the|its|torch|a)\b": "outside",
    r"\bThe machine is in order\b": "Nothing is wrong with the machine",
    r"(?<![-=/])\b(?P<twice>the|a|an|of|or|is|to|and|it|for|with|be|are|from)\s+(?P=twice)\s": "the word once",
    r"\b[Ii]f it stays\b": "if it persists, if it is still ...",
    r"(?<=, )\bsince (?:it|they|this|no|all|what|some|many|the|that) (?!update|upgrade|kernel|release)": "because",
    r"\bthan it counts with\b|\bcounts with (?:more|fewer|another)\b": "expects",
    r"\bin the midst of\b": "in the middle of",
    r"\b(?:process|tasks|core)(?:es|s)? a (?:GPU|node|rank|task|core)\b|\bone task a node\b": "per GPU, per node",
    r"\bby way of\b": "through",
    r"\basks? nobody\b": "does not check",
    r"\blooked (?:at|for) in (?!the)": "look at ... in",
    r"\bround alike\b|\btrain alike\b|\b[Ss]et [\w{}]{1,40} alike\b|\blayers are alike\b": "in the same way",
    r"\bits? reader does not take\b|\btakes? no (?:model|GPU)\b": "does not accept, does not support",
    r"\bthe GPU of the machine\b": "the machine's GPU",
    r"\bis older than [\w' ]{1,40} needs?\.": "is too old for ...",
    r"\bbelongs? to root alone\b|\bseen by root alone\b": "only to root",
    r"\bwithout the kernel of uname\b": "does not list it for the kernel",
    r"\b(?:sequences|passes|layers|chunks|micro-batch(?:es)?|tokens\)?) a (?:step|stage|sequence|rank)\b": "per step",
    r"\bone (?:scale|momentum) a \w+\b": "per row, per parameter",
    r"\bdoes not pay for\b": "is not worth",
    r"\bwhat more\b": "the extra ...",
    r"\bplainest\b(?! one that)": "simplest",
    r"(?<=, )\b(?:and|or) --[\w-]+(?:[= ]\S+)? of the\b": "start ... with --option",
    r"\b(?:sequence length|method) not given|\bno batch size was asked\b": "you gave no ...",
    r"\b(?:speed|rate|memory) is in no table\b": "no table has ...",
    r"\b(?:is|are) taken (?:to join|for them)\b|\brate is taken\b|\bthat of \w+ is taken\b": "the plan uses, assumes",
    r"\b[Ww]hether [\w .'-]{3,60} is not known\b": "it is not known whether ...",
    r"\bfan (?:was|is) fixed by hand\b": "set to a fixed speed",
    r"\bcontext for (?:other kinds|open symptoms)\b": "it only supports other findings",
    r"\beffect: '?Tells (?:the|how|its)\b|\ba launch[,.]": "gives ..., says how ...; per launch",
    r"\bdata base\b": "database",
    r"\bCompiles [\w ']{3,30} again\b": "recompiles",
    r"\b[Ww]ith [01] (?:the|calls|kernels|GPUs|processes|NVIDIA)\b": "With 1, ...",
    r"\bby the documents\b|\bAppears in documents\b": "according to the documentation",
    r"\bthat (?:is|was) an identity\b|\bids that are no identity\b": "identify somebody",
    r"\bdefects? (?:of|in) (?:a|an|the|this|that|its|MIOpen|Triton|torch|one)\b|\bown defect\b": "a bug in ...",
    r"\b[Mm]ost often (?:the|a|an|because|main|nvidia_uvm|TensorFlow|torch)\b": "usually",
    r"\b(?:is|are) said to (?:become|share|be s\w+|have|run|use|count)\b": "the writer says that ...",
    r"\bsettled it\b|\bA like case\b": "fixed it, in a similar case",
    r"\b[Ll]eft-overs? (?:process|file|service|job|NVIDIA)|\bor left-over\b": "leftover",
    r"\bgone from the bus\b": "has fallen off the bus",
    r"\bwith --index-url of\b": "from the ROCm index (--index-url ...)",
    r"\b[Ss]uspect [\w ]{2,30} only where\b": "only if",
    r"\bthe one of (?:the|this|that|torch)\b": "the system's, torch's",
    r"\b(?:runtime|loader|package|program|plug-in|module|binary|compiler|wheel|clang) wants\b": "needs, expects",
    r"\bmay not be (?:opened|updated|used|read)\b": "cannot be",
    r"\bholds? (?:only|no|compiled|invalid) (?:kernels?|PTX|code|library|libraries|tensors)\b": "contains, has",
    r"\bin (?:4|8|16|32) bit\b(?!-)": "in 16 bits",
    r"\bfits? no number of\b": "work with no number of",
    r"\b(?:shows|says|tells) little of\b|\brecognised as evidence of\b": "says little about",
    r"\bstood in front of\b|\blay in /": "was found before, was in",
    r"\blimit of locked memory\b": "the locked-memory limit",
    r"\bends (?:in|with) (?:InvalidBackend|(?:Type|Attribute|Runtime)Error)\b": "raises",
    r"\bsupply with reserve\b": "with headroom",
    r"\ba matter of a setting\b": "this is only a setting",
    r"\b(?:manager|daemon) (?:does|did) not run\b": "is not running",
    r"\bmanager of exactly\b": "in exactly the driver's version",
    r"\bmade up by a hypervisor\b": "emulated by",
    r"\bshows \d[\d.]*e-\d": "makes a difference of",
    r"\bdriver has no path for\b": "does not support",
}
# Each begins at a word, so that other places need no look.
_ANY = re.compile(rf"\b(?=\w)(?:{'|'.join(BETTER)})")
_AT_A_WORD = re.compile(r"(?:\(\?<[!=](?:[^()\\\[]|\\.|\[[^]]*\])*\))?\\b[\w(\[]")
# Their text is matched against reports, not shown.
_PATTERNS = frozenset(
    (
        "rocdoctor/parsers/logs/message_match.py",
        "rocdoctor/parsers/logs/said_behind.py",
        "rocdoctor/paste/passage_roles.py",
        "rocdoctor/knowledge/tables/told_words.yaml",
        "rocdoctor/knowledge/tables/told_states.yaml",
        "rocdoctor/knowledge/tables/likeness.yaml",
        "rocdoctor/knowledge/tables/message_frames.yaml",
    )
)
_QUOTED = re.compile(r"^\s*(?:- )?[\"']?(?:match|not|example|counter|examples|line|source)[\"']?:|^\s*#")


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """The string literals of a module; an f-string as one, with {} for its values. A check's docstring is its page."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    seen: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        page = isinstance(node, ast.Module) and path.parent.name == "checks"
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and not page:
            seen.add(id(first.value))  # a docstring
        if isinstance(node, ast.JoinedStr):
            seen.update(map(id, node.values))
            yield node.lineno, "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in seen:
            yield node.lineno, node.value


def _shown() -> Iterator[tuple[str, int, str]]:
    for folder in ("rocdoctor", "checks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if name not in _PATTERNS:
                yield from ((name, line, text) for line, text in _strings(path) if " " in text)
    tables = sorted((ROOT / "rocdoctor" / "knowledge" / "tables").glob("*.yaml"))
    pages = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "tasks").glob("*.md")])
    for path in (*tables, *pages, ROOT / "README.md", ROOT / "SECURITY.md"):
        if str(path.relative_to(ROOT)) in _PATTERNS:
            continue
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if path.suffix == ".md" or not _QUOTED.match(text):
                yield str(path.relative_to(ROOT)), line, text


@pytest.mark.parametrize(
    "said",
    [
        "what is, or or with an older release, slower",
        "Reboot. If it stays, replace the card",
        "It is not known, since no table has it",
        "torchrun starts one process a GPU",
        "it sees fewer GPUs than it counts with",
        "The driver is older than this CUDA release needs.",
        "16 sequences (32768 tokens) a step",
        "4 layers a stage, 2 in the last",
        "float8 with one scale a row",
        "4% faster, which does not pay for what more it needs to be set up",
        "raise the limit, and --ulimit memlock=-1 of the container",
        "sequence length not given: 2048 tokens",
        "no batch size was asked for: 1 sequence",
        "the plainest one: every GPU holds the whole model",
        "the speed of these links is in no table: that of PCIe is taken",
        "whether this GPU has 8-bit types is not known, so it is left out",
        "A GPU is said to become too hot.",
        "loopback addresses, and ids that are no identity",
        "The fan was fixed by hand at 60 of 255",
        "A program was stopped: context for other kinds.",
        "effect: Tells how many nodes the job has.",
        "which saves a few microseconds a launch.",
        "Moves the data base that ships with MIOpen.",
        "Compiles kernels again at every start.",
        "With 1 the host waits after every kernel launch",
        "Selects GPUs for OpenCL and, by the documents, for HIP.",
        "a defect of the program or of a library is the usual reason",
        "the port is not known: most often the daemon does not run",
        "A reboot settled it.",
        "Or that GPU is gone from the bus.",
        "reinstall torch with --index-url of the ROCm index",
        "Suspect the GPU only where the kernel log has an Xid 48",
        "the mode of the build is not the one of the device",
        "the loaded nvidia module wants 570",
        "The device nodes may not be opened in the container.",
        "The limit of locked memory is too small.",
        "the fabric manager does not run, or failed",
        "a port above the GPU was made up by a hypervisor",
        "one flipped bit of one gradient shows 1.7e-4",
        "The compute driver has no path for this chip.",
    ],
)
def test_each_recurring_stumble_is_found(said: str) -> None:
    assert _ANY.search(said)


def _alternatives(pattern: str) -> list[str]:
    """The parts of an expression between bars that stand in no brackets."""
    parts, depth = [""], 0
    for piece in re.findall(r"\\.|\[(?:\\.|[^]\\])*\]|.", pattern):
        depth += {"(": 1, ")": -1}.get(piece, 0)
        if piece == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def test_each_expression_begins_at_a_word() -> None:
    assert _alternatives(r"a|(?:b|c)[|)]\|d|e") == ["a", r"(?:b|c)[|)]\|d", "e"]
    assert not _AT_A_WORD.match("a word") and not _AT_A_WORD.match(r"(?<!x)y") and not _AT_A_WORD.match(r"\b, no")
    assert [part for one in BETTER for part in _alternatives(one) if not _AT_A_WORD.match(part)] == []


def test_words_that_native_readers_stumble_over_are_not_used() -> None:
    found = []
    for name, line, text in _shown():
        if _ANY.search(text):
            for pattern, better in BETTER.items():
                hit = re.search(pattern, text)
                if hit:
                    found.append(f"{name}:{line}: {hit[0]!r}: write {better!r}")
    assert not found, "\n".join(found)
