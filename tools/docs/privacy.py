"""``docs/privacy.md``: what masking replaces, from its own tables. ``python -m tools.docs`` writes it."""

from __future__ import annotations

from typing import Any

from rocdoctor.host.masking.masker import MOST_TOLD, Masker
from rocdoctor.host.masking.rules import example, load_tables
from rocdoctor.knowledge.load import load_table

_BEGIN = """# What leaves the machine, and what does not

Nothing is ever sent anywhere. `rocdoctor bundle` writes one text file with mode 0600, so you can read it before you
give it to anybody. `rocdoctor bundle --show` only prints the file and what was masked; it leaves out escape sequences
and invisible characters, while `-o -` prints every byte. `--include-identity` switches all masking off.

Reports are masked in the same way, because people paste them too: `check`, `read`, `lint`, `setup` and `diff` in every
format, and `facts` as text. This covers reports on this machine and on a folder, an archive or a pasted text that has
not been masked yet. If the name of a bundle contains the machine's name, that name is masked as well. Masking a masked
text again changes nothing, so a bundle gives the same report as the machine it was made on.

Not masked by design:

- `fix` prints and runs commands, which need names and paths as they are; it says so.
- `emit` writes the script, image and job that you name as they are. From the evidence it writes the names of GPUs and,
  in a profile, the variables that choose them; it says so. It writes no names of people or machines, no folders and no
  secrets from the evidence.
- Reports about several nodes (`smoke --nnodes`) keep private addresses and names of network cards, because you
  need them to fix a fault. Public addresses, other names, secrets and the addresses of network cards are masked.
- The commands, files and script of `setup` name folders as the evidence does.
- `facts --json`, `recommend` and the screens do not mask evidence (`--from`) that was not masked before, because
  programs and people work with its values on their own machine. Bundles are masked already.
- The names of the files that you give to `lint` and `diff`, and names that you use in options.

Masking happens before anything else sees an answer, so nothing unmasked reaches a disk. Its rules recognise a value by
its form, by the name next to it, or by its place. A password in the middle of a sentence has none of these, so read
the file before you post it. The following are not masked either, because they look like technical words:

- names of folders directly below shared ones (`/data/NAME`, `/opt/envs/NAME`), unless the name is known from elsewhere;
- names in tables without a heading, and in a user's own crontab;
- accounts in public URLs (`https://github.com/NAME`, `https://huggingface.co/NAME`): many belong to models
  and projects that everybody uses. Accounts in `git@HOST:NAME`, in uploads and in wandb runs are masked, unless they
  are generally known;
- the name of a single machine before a colon (`zeus17: ready`), because it looks like the name of a device; if several
  machines print the same line, or a list names them, they are masked;
- values made of letters only, and names of code (`a_b_c`), next to a weak word (`pass=word`, `token: word`), unless a
  user name is there too;
- names of clusters, partitions, profiles, containers and pods, and container ids;
- street addresses, dates of birth, file system labels, account numbers that no word announces, and telephone numbers
  with neither such a word nor a `+` and a country's code;
- a value that is printed below its name, if the lines begin with prefixes that differ (such as times).

If an answer mentions more than {most} people, machines and secrets, each of its further lines becomes `masked-value`.

This page is generated from the tables (`python -m tools.docs`), and each example in it is tested.

## The environment

The names of all variables are written, so that you can find a misspelt one. Values are written only for listed names:
{names} names, and {numbered} followed by a number. For Slurm, Open MPI, PMIx, conda, OpenMP and torchrun, the list has
the names in their documentation; a known prefix is not enough. All other values become `<dropped>`, including those of
{dropped}. Values that are kept are masked like any text.

## Secrets by the name alongside them

A value is replaced by `masked-value` when the name, header or argument next to it says that it is a secret: on the same
line, on the lines below it, in lists, calls (`SecretStr("...")`), cells and columns of tables, and in documents that
are secrets (`kind: Secret`). These words always mark a secret: {strong}. These words
mark one in arguments, in variables, and next to a value that looks random (the only place with an entropy test):
{medium}.
A value found this way is also replaced everywhere else, including in base64, hexadecimal and percent escapes.

{name_examples}
## Secrets by their form or place

`<alnum:36>` stands for 36 letters and digits, and so on. Text in base64, hexadecimal, backslash or percent escapes
is decoded and checked by the same rules (`masked-coded-secret`). Private key blocks become `masked-private-key`, also
when they are cut off or on one line; names and passwords in URLs become `masked-userinfo`.

| becomes | examples |
| --- | --- |
"""

_IDENTITIES = """
## Identities

Within one file, the same name always gets the same replacement. The names of the machine, its domain and its people
are known from the start. Other names are learned from places that show what they are (`USER=`, a home folder, the
columns of `ls -l`, `ps`, `top` and `squeue`, fields of Slurm, mounts, a kernel log). They are then replaced everywhere,
including in earlier answers. In `ssh NAME@HOST` and in prompts, names are replaced in that place only, because they may
be any words. Hosts in URLs are kept if their domain is well known (github.com, pypi.org, repo.radeon.com and {public}
more). In the examples the machine is called `alice-box.lab.example.edu` and its user `alice`.

| what | before | after |
| --- | --- | --- |
"""

_KEPT = """
## What stays

PCI addresses, device and subsystem ids, versions, gfx names, kernel releases and build strings, hashes, kinds of
network interfaces, sizes, /dev paths, module names, loopback addresses, and ids that identify nobody. For example:

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
