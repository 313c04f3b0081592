"""``docs/privacy.md``: what masking replaces, from its own tables. ``python -m tools.docs`` writes it."""

from __future__ import annotations

from typing import Any

from rocdoctor.host.masking.masker import MOST_TOLD, Masker
from rocdoctor.host.masking.rules import example, load_tables
from rocdoctor.knowledge.load import load_table

_BEGIN = """# What leaves the machine, and what does not

Nothing is ever sent anywhere. `rocdoctor bundle` writes one text file, with mode 0600, that you can read before you
give it to anybody; `rocdoctor bundle --show` prints it and what was masked, and writes nothing (without escape
sequences and invisible characters; `-o -` prints it to the byte). `--include-identity` lifts all of it.

Reports are masked in the same way, because they get pasted too: reports on this machine, and on a folder, an archive
or a pasted text, which nobody has masked before (`check`, `read`, `lint`, `setup` and `diff` in every format, `facts`
as text). The name of a bundle that is named after its machine is masked as well. Masking a masked text again changes
nothing, so a bundle gives the same report as the machine it was made on.

Not masked by design:

- `fix` prints and runs commands, which need names and paths as they are; it says so.
- `emit` writes what you name (script, image, job) as it is, and, from the evidence, the names of GPUs and, in
  a profile, the variables that choose them; it says so. It writes no names of people and machines, folders or secrets
  from the evidence.
- Reports about several nodes (`smoke --nnodes`) keep private addresses and names of network cards, because these are
  what you have to fix; public addresses, names, secrets and addresses of network cards are masked.
- The commands and files of `setup` and its script name folders as the evidence does.
- `facts --json`, `recommend` and the screens, where they read evidence (`--from`) that was not masked before: programs
  and people work with its values on their own machine. Bundles are masked already.
- The names of the files that you give to `lint` and `diff`, and names that you use in options.

Masking happens before anything else sees an answer, so nothing unmasked reaches a disk. It is a set of rules: it finds
what has a known form, a telling name next to it, or a known place. A password in the middle of a sentence has none of
these, so read the file before you post it. The following are not masked either, because they look like technical words:

- folders right below ones that are not people's (`/data/NAME`, `/opt/envs/NAME`), until the name was learned elsewhere;
- names in tables without a heading, and in a user's own crontab;
- accounts in public URLs (`https://github.com/NAME`, `https://huggingface.co/NAME`): many are of models and projects
  that everybody uses. Those of `git@HOST:NAME`, of uploads and of wandb runs are masked, unless everybody knows them;
- one machine's name before a colon (`zeus17: ready`), which looks like a device's; if several machines say the same,
  or a list names them, they are masked;
- values of only letters next to only a weak word (`pass=word`, `token: word`), unless a user name is there too;
- names of clusters, partitions, profiles, containers and pods, and container ids;
- street addresses, dates of birth, file system labels, and account numbers without a word next to them, as well as
  telephone numbers that have neither a word nor a `+`;
- prefixes that differ from line to line (times) before a value that is printed below its name.

An answer that mentions more than {most} people, machines and secrets is cut off: each further line of it becomes
`masked-value`.

This page is made from the tables (`python -m tools.docs`); each example in it is a test.

## The environment

All names are written, so that you can find a misspelt one. Values are written only for listed names: {names} names, and
{numbered} with a number. Names of Slurm, Open MPI, PMIx, conda, OpenMP and torchrun are those of their own
documentation; no prefix lets other names through. All other values become `<dropped>`, also those of {dropped}.
Values that are kept are masked like any text.

## Secrets by the name alongside them

A value is replaced by `masked-value` when the name, header or argument next to it says that it is a secret: on the same
line, on the lines below it, in lists, calls (`SecretStr("...")`), cells and columns of tables, and in documents that
are secrets (`kind: Secret`). Words that always say so: {strong}. Words that say so for
arguments, for variables, and where the value looks random (no entropy test is made anywhere else): {medium}.
A value found this way is also replaced everywhere else, and in base64, hexadecimal and percent escapes.

{name_examples}
## Secrets by their form or place

`<alnum:36>` stands for 36 letters and digits, and so on. What base64, hexadecimal, backslash or percent escapes hide
is decoded and judged by the same rules (`masked-coded-secret`). Private key blocks become `masked-private-key`, also
when they are cut off or on one line; names and passwords in URLs become `masked-userinfo`.

| becomes | examples |
| --- | --- |
"""

_IDENTITIES = """
## Identities

The same original gets the same replacement everywhere in one file. Names of the machine, its domain and its people are
known from the start; others are learned where a place shows what they are (`USER=`, a home folder, the columns of
`ls -l`, `ps`, `top` and `squeue`, fields of Slurm, mounts, a kernel log), and then replaced everywhere, also in earlier
answers. In `ssh NAME@HOST` and in prompts names are replaced where they stand, but not learned: these may be any words.
Hosts of URLs stay where everybody knows their domain (github.com, pypi.org, repo.radeon.com and {public} more). In the
examples the machine is called `alice-box.lab.example.edu` and its user `alice`.

| what | before | after |
| --- | --- | --- |
"""

_KEPT = """
## What stays

PCI addresses, device and subsystem ids, versions, gfx names, kernel releases and build strings, hashes, kinds of
network interfaces, sizes, /dev paths, module names, loopback addresses, and ids that are no identity. For example:

```text
"""


def page() -> str:
    """The whole page."""
    data = load_table("masking")
    tables = load_tables()
    env, names = data["env"], data["secret_names"]
    masker = Masker()
    shown = [f"- {_code(one)} becomes {_code(masker.mask_text(example(one)[0]))}\n" for one in tables.name_examples]
    parts = [
        _BEGIN.format(
            most=f"{MOST_TOLD:,}",
            names=len(set(env["names"]) | {one for family in env["families"] for one in family["names"]}),
            numbered=_codes([f"{one}N" for one in env["numbered"]]),
            dropped=_codes(env["dropped"]),
            strong=_codes(names["strong"]),
            medium=_codes(names["medium"]),
            name_examples="".join(shown),
        )
    ]
    examples: dict[str, list[str]] = {}
    for rule in tables.secrets:
        examples.setdefault(rule.token, []).extend(rule.examples)
    parts += [_row(_code(token), _codes(found)) for token, found in sorted(examples.items())]
    parts.append(_IDENTITIES.format(public=len(set(data["public_domains"])) - 3))
    parts += [
        _row(one["what"], _code(one["example"]), _code(example_masker().mask_text(one["example"])))
        for one in data["identities"]
    ]
    parts += [_KEPT, *(f"{line}\n" for line in data["kept"]), "```\n"]
    return "".join(parts)


def example_masker() -> Masker:
    """A masker that knows the machine of the examples."""
    masker = Masker()
    masker.learn(hostname="alice-box.lab.example.edu", user="alice", home="/home/alice")
    return masker


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _code(text: Any) -> str:
    plain = " ⏎ ".join(part.strip() for part in str(text).split("\n")).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`"


def _codes(words: list[Any]) -> str:
    return ", ".join(_code(word) for word in words)
