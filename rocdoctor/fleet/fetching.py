"""Engines that run ``record`` on many nodes and bring back what it printed. Pure: names in, argument lists out.

The name of a node always comes from the engine, never from what the node prints. Sources, all read 2026-11-28:
srun(1) of Slurm 22.05 (--label gives the number of the task; with --distribution=arbitrary task n runs on line n of
$SLURM_HOSTFILE), clush(1) of ClusterShell 1.9.1 and pdsh(1) 2.34 (the exec worker puts a node in place of %h, and both
write it before each line), ssh_config(5); ansible/ansible lib/ansible/plugins/callback (--tree and --one-line leave
with 2.23, and others let the text of a node look like that of the next: so a play writes a file for each);
flux-framework/flux-core src/cmd/flux-exec.c (a number of a rank before whatever arrived, a line or less: so each node
has a ``flux exec`` of its own, whose exit status is that of the command, or 68 where there is no way to the rank).
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from rocdoctor.fleet import ansible_action
from rocdoctor.fleet.node_names import folded, unfolded
from rocdoctor.fleet.node_side import MOST_COMPLAINED, on_node
from rocdoctor.fleet.read_record import NODE
from rocdoctor.fleet.record import MOST_BYTES
from rocdoctor.model.lazy_re import regex

FetchName = Literal["srun", "clush", "pdsh", "ansible", "flux"]
MOST_AT_ONCE = 64
_CONNECT_S = 10
_PROGRAM = regex(r"(?:/[A-Za-z0-9_./+-]{1,1000}|[A-Za-z0-9_][A-Za-z0-9_.+-]{0,100})")
_GROUPS = frozenset(("all", "ungrouped", "default"))  # of Ansible's inventory, and of Slurm
_END_S = 5  # an engine waits so much longer than ssh may take, since it ends a shell and not what that has started
# A node gets no key, ticket or port of whoever asks, whatever ssh_config forwards elsewhere (ssh(1), ssh_config(5)).
_LENT_NOTHING = "-a -k -x -oClearAllForwardings=yes"
_SSH = f"ssh {_LENT_NOTHING} -T -n -oBatchMode=yes -oConnectTimeout={_CONNECT_S}"
# What a node sends, before an engine sees it: so much of stdout and of stderr, no NUL, and a line end at the end of
# both. Without them clush holds a line of any length in memory, pdsh ends a line at a NUL, and to one without an end it
# adds the line of the next node (both tried 2026-11-28). What is beyond it of stderr alone is read and dropped, since
# somebody may complain for long and answer all the same. The exit status is that of ssh.
_MOST_SENT = MOST_BYTES + 1024
_BOUNDED = (
    "exec 4>&1; s=$({{ {{ {{ timeout --kill-after=5 {limit} {ssh} 3>&- 4>&- 5>&-; echo $? >&3; }}"
    " 2>&1 1>&5 | {{ head -c {errors}; exec cat > /dev/null; }} | tr -d '\\000' >&2; }}"
    " 5>&1 | head -c {sent} | tr -d '\\000' >&4; }} 3>&1); echo; echo >&2; exit $s"
)
_FATAL = regex(
    r"fatal: \[([A-Za-z0-9][A-Za-z0-9._-]{0,252})\](?: -> \S{1,100})?: (?:UNREACHABLE|FAILED)! => ([^\n]{1,8000})"
)
_CLUSH = regex(r"clush: ([][A-Za-z0-9._,-]{1,4000}): (exited with exit code \d{1,4}|command timeout)")
_PDSH = regex(r"pdsh@[\w.-]{1,255}: ([A-Za-z0-9][A-Za-z0-9._-]{0,252}): ([^\n]{1,300})")
_LABELLED = regex(r"\s{0,12}(\d{1,6}): ([^\n]{1,300})")
_JOINED = regex(r"\s{0,12}(\d{1,6}): (.{0,2000})\n?")
_TAGGED = regex(r"([A-Za-z0-9][A-Za-z0-9._-]{0,252}): ([^\n]{1,300})")


class FetchError(Exception):
    """Why nodes cannot be asked, in a few words."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked of whom: ``program`` is rocdoctor on the nodes, ``key`` a file there; seconds for each node.

    ``ranks``: the rank of each host of a Flux instance, for flux alone.
    """

    nodes: tuple[str, ...]
    program: str = "rocdoctor"
    key: str | None = None
    limit_s: int = 60
    at_once: int = MOST_AT_ONCE
    inventory: str | None = None
    ranks: Mapping[str, int] = field(default_factory=dict)

    def whole_s(self) -> int:
        """After how many seconds all is over: as many rounds as there are, and what engines need around them."""
        rounds = -(-len(self.nodes) // max(1, self.at_once))
        return rounds * (self.limit_s + _CONNECT_S + _END_S) + 30


@dataclass(frozen=True, slots=True)
class FetchPlan:
    """How an engine is started. ``folder`` is this run's own: the files of ``files`` go there first.

    ``record_part`` is (node, text) of a line of stdout, None for what is of no node that was asked; ``complaint`` is
    (nodes, why) of a line of stderr that tells of nodes, else ((), "").
    """

    argv: tuple[str, ...]
    record_part: Callable[[str], tuple[str, str] | None]
    complaint: Callable[[str], tuple[tuple[str, ...], str]]
    environment: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    in_folder: bool = False  # records come as files of the folder's "records", not as lines
    memory_bytes: int = 0  # that each process of the engine may have; 0: as much as there is
    in_parts: bool = False  # all lines of a node together are its record: srun breaks them after 1,024 bytes
    by_hand: str = "ssh NODE true"  # shows whether a node can be reached


def fetch_plan(engine: FetchName, asking: Asking, folder: str) -> FetchPlan:
    """How an engine asks these nodes. Raises FetchError for words that no shell should see."""
    if not asking.nodes:
        raise FetchError("no node is named")
    for one in asking.nodes:
        if not NODE.fullmatch(one):
            raise FetchError(f"{one!r} is not the name of a node")
    if named := sorted(_GROUPS.intersection(one.lower() for one in asking.nodes)):
        raise FetchError(f"{named[0]!r} stands for more than a node; name the nodes")
    if not _PROGRAM.fullmatch(asking.program):
        raise FetchError(f"{asking.program!r}: a program on the nodes is a name or an absolute path of plain letters")
    if asking.key is not None and (not asking.key.startswith("/") or not _PROGRAM.fullmatch(asking.key)):
        raise FetchError(f"{asking.key!r}: the key is an absolute path of plain letters")
    return _PLANS[engine](asking, folder)


def _record(asking: Asking, node: str | None = None) -> tuple[str, ...]:
    return on_node(asking.program, asking.key, asking.limit_s, node)


def _srun(asking: Asking, folder: str) -> FetchPlan:
    count = len(asking.nodes)
    argv = (
        *("srun", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", "--distribution=arbitrary"),
        *("--label", "--overlap", "--wait=0", "--kill-on-bad-exit=0", f"--immediate={_CONNECT_S}"),
        *(f"--time={-(-asking.limit_s // 60) + 1}", "--job-name=rocdoctor-record", *_record(asking)),
    )

    def node_of(line: str, pattern: re.Pattern[str]) -> tuple[str, str] | None:
        found = pattern.match(line)
        at = int(found[1]) if found else count
        return (asking.nodes[at], found[2]) if found and at < count else None

    def complaint(line: str) -> tuple[tuple[str, ...], str]:
        told = node_of(line, _LABELLED)
        return ((told[0],), told[1]) if told else ((), "")

    hosts = "".join(f"{one}\n" for one in asking.nodes)
    place = (("SLURM_HOSTFILE", f"{folder}/hosts"),)
    return FetchPlan(
        argv,
        lambda line: node_of(line, _JOINED),
        complaint,
        place,
        (("hosts", hosts),),
        in_parts=True,
        by_hand="srun --nodelist=NODE true",
    )


def _tagged(asking: Asking) -> Callable[[str], tuple[str, str] | None]:
    names = frozenset(asking.nodes)

    def record_part(line: str) -> tuple[str, str] | None:
        node, _, text = line[:MOST_BYTES].partition(": ")
        return (node, text) if node in names else None

    return record_part


def _told(asking: Asking, *patterns: re.Pattern[str]) -> Callable[[str], tuple[tuple[str, ...], str]]:
    names = frozenset(asking.nodes)

    def complaint(line: str) -> tuple[tuple[str, ...], str]:
        for one in patterns:
            found = one.match(line)
            with contextlib.suppress(ValueError):
                nodes = tuple(each for each in unfolded(found[1]) if each in names) if found else ()
                if found and nodes:
                    return nodes, found[2]
        return (), ""

    return complaint


def _remote(asking: Asking) -> str:
    """A line of a shell: what ssh is to run, and where. A shell here reads it, and one on the node."""
    ssh = f"{_SSH} %h {shlex.quote(shlex.join(_record(asking, '%h')))}"
    return _BOUNDED.format(limit=asking.limit_s + _CONNECT_S, ssh=ssh, errors=MOST_COMPLAINED, sent=_MOST_SENT)


def _clush(asking: Asking, folder: str) -> FetchPlan:
    del folder
    argv = (
        *("clush", "--worker=exec", "-S", "-w", folded(asking.nodes), "-f", str(asking.at_once)),
        *("-u", str(asking.limit_s + _CONNECT_S + _END_S), _remote(asking)),
    )
    return FetchPlan(argv, _tagged(asking), _told(asking, _CLUSH, _TAGGED))


def _pdsh(asking: Asking, folder: str) -> FetchPlan:
    del folder
    argv = (
        *("pdsh", "-R", "exec", "-S", "-w", folded(asking.nodes), "-f", str(asking.at_once)),
        *("-u", str(asking.limit_s + _CONNECT_S + _END_S), "sh", "-c", _remote(asking)),
    )
    return FetchPlan(argv, _tagged(asking), _told(asking, _PDSH, _TAGGED))


# It holds five times what a node prints; a process of its own that has no more fails alone, and so does its node (tried
# with ansible-core 2.19 on 2026-11-28).
_MOST_OF_ANSIBLE = 2 << 30

_PLAY = """\
# Written by rocdoctor: each node records itself, and what it prints comes into a file of its name here.
{more}- hosts: {nodes} # a list, since YAML reads 0012 or 10:20 as numbers
  gather_facts: false
  strategy: free
{first}  tasks:
    - name: Record this node
      {action}: {command}
      register: rocdoctor_record
      changed_when: false
      failed_when: false
      timeout: {limit}
    - name: Say why there is no record
      ansible.builtin.fail: # the end of its message, because a failed task's message is shown whole
        msg: "{{{{ (rocdoctor_record.stdout ~ '\\n' ~ rocdoctor_record.stderr)[-400:] }}}}"
      when: rocdoctor_record.rc != 0
    - name: Bring the record here
      ansible.builtin.copy:
        content: "{{{{ rocdoctor_record.stdout }}}}"
        dest: "{records}/{{{{ inventory_hostname }}}}.json"
        mode: "0600"
      delegate_to: localhost
      become: false
      vars: # so that nothing runs from a folder, or by an interpreter, that settings for nodes name
        ansible_connection: local
        ansible_python_interpreter: "{{{{ ansible_playbook_python }}}}"
        ansible_remote_tmp: "{temporary}"
"""
# A play without a list of its own: what stands before it, and what comes first on each host of an inventory.
_SITE_MORE = """\
#
#   ansible-playbook -i HOSTS -f 64 -T 10 rocdoctor-record.yml; rocdoctor fleet tick STORE RECORDS
#
# The folder RECORDS (rocdoctor_records below) must exist. Nodes need rocdoctor, but no Python of Ansible's. A node that
# fails or hangs leaves no record and does not delay the others. With become, a node also
# records its kernel log where only root can read it. `rocdoctor fleet run --on ansible` does the same in one step.
"""
_SITE_FIRST = """\
  vars:
    rocdoctor_records: !unsafe {records}
  pre_tasks:
    - name: Take no name that is more than the name of a file
      ansible.builtin.assert:
        that: inventory_hostname is match('[A-Za-z0-9][A-Za-z0-9._-]{{0,252}}$')
        quiet: true
"""


def site_play(program: str, records: str) -> str:
    """A play for any inventory; ``program`` is a plain path on the nodes, ``records`` a folder where Ansible runs."""
    asking = Asking((), program)
    return _PLAY.format(
        more=_SITE_MORE,
        nodes=json.dumps(["all"]),
        first=_SITE_FIRST.format(records=json.dumps(records)),
        action="ansible.builtin.raw",
        command=_of_ansible(asking),
        limit=asking.limit_s + 2 * _CONNECT_S,
        records="{{ rocdoctor_records }}",
        temporary="~/.ansible/tmp",
    )


def _of_ansible(asking: Asking) -> str:
    """The command as a text of YAML that Jinja reads."""
    return json.dumps(shlex.join(_record(asking, "{{ inventory_hostname }}")))


def _ansible(asking: Asking, folder: str) -> FetchPlan:
    limit = asking.limit_s + 2 * _CONNECT_S
    play = _PLAY.format(
        more="",
        nodes=json.dumps(list(asking.nodes)),
        first="",
        action=ansible_action.ACTION,
        command=f"{{command: {_of_ansible(asking)}}}",
        limit=limit,
        records=f"{folder}/records",
        temporary=f"{folder}/tmp",
    )
    inventory = asking.inventory if asking.inventory is not None else ",".join(asking.nodes) + ","
    argv_ = (
        "ansible-playbook",
        "-i",
        inventory,
        "-f",
        str(asking.at_once),
        "-T",
        str(_CONNECT_S),
        f"{folder}/play.yml",
    )
    settings = (
        ("ANSIBLE_SSH_EXTRA_ARGS", _LENT_NOTHING),
        ("LC_ALL", "C.UTF-8"),  # it refuses to start in another encoding
        ("ANSIBLE_NOCOLOR", "1"),
        ("ANSIBLE_RETRY_FILES_ENABLED", "0"),
        ("ANSIBLE_LOCAL_TEMP", f"{folder}/tmp"),  # what it starts goes through there
        ("ANSIBLE_STDOUT_CALLBACK", "default"),
        # Nothing of earlier runs, which settings often keep in /tmp: hosts and variables would come from whoever wrote
        # there (lib/ansible/plugins/doc_fragments/inventory_cache.py of ansible/ansible, read 2026-11-29).
        ("ANSIBLE_CACHE_PLUGIN", "memory"),
        ("ANSIBLE_INVENTORY_CACHE_PLUGIN", "memory"),
    )
    complaint = _told(asking, _FATAL)
    files = (("play.yml", play), (ansible_action.PLACE, ansible_action.text()))
    return FetchPlan(
        argv_,
        _tagged(asking),
        lambda line: _in_words(*complaint(line)),
        settings,
        files,
        in_folder=True,
        memory_bytes=_MOST_OF_ANSIBLE,
        by_hand="ansible -i INVENTORY NODE -m raw -a true",
    )


def _in_words(nodes: tuple[str, ...], told: str) -> tuple[tuple[str, ...], str]:
    """Why a task of Ansible failed, of the JSON that it prints: the last two lines of its message."""
    try:
        lines = str(json.loads(told).get("msg") or "").splitlines()
    except (ValueError, AttributeError, RecursionError):
        return nodes, told
    return nodes, "; ".join([one.strip()[:120] for one in lines if one.strip()][-2:])


# $1 is a rank and $2 its node, both plain words. What is told of a node is one write of less than 4 KiB, which no other
# comes between (pipe(7)). A record that is none but the line end which was added is no file.
_OF_RANK = """\
to={folder}/records/$2.json
( {bounded} ) > "$to" 2> {folder}/said-$2
s=$?
[ "$(head -c 2 "$to" | wc -c)" -gt 1 ] || rm -f "$to"
{{ grep . {folder}/said-$2 | tail -n 3 | cut -c -300; [ $s = 0 ] || echo "exited with exit code $s"; }} |
  sed "s/^/$2: /" > {folder}/told-$2
cat {folder}/told-$2 >&2
"""


_BY_RANK = "flux exec --rank=RANK true"


def _flux(asking: Asking, folder: str) -> FetchPlan:
    if absent := [one for one in asking.nodes if one not in asking.ranks]:
        raise FetchError(f"{absent[0]!r} is not a host of this Flux instance")
    words = " ".join((shlex.join(_record(asking, "")[:-1]), "$2"))
    one = f"flux exec --noinput --quiet --dir=/ --rank=$1 {words}"
    bounded = _BOUNDED.format(limit=asking.limit_s + _CONNECT_S, ssh=one, errors=MOST_COMPLAINED, sent=_MOST_SENT)
    ranks = "".join(f"{asking.ranks[node]} {node}\n" for node in asking.nodes)
    argv = ("xargs", "-a", f"{folder}/ranks", "-n", "2", "-P", str(asking.at_once), "sh", f"{folder}/ask")
    ask = _OF_RANK.format(folder=folder, bounded=bounded)
    files = (("ranks", ranks), ("ask", ask))
    return FetchPlan(argv, _tagged(asking), _told(asking, _TAGGED), (), files, in_folder=True, by_hand=_BY_RANK)


_PLANS: dict[FetchName, Callable[[Asking, str], FetchPlan]] = {
    "srun": _srun,
    "clush": _clush,
    "pdsh": _pdsh,
    "ansible": _ansible,
    "flux": _flux,
}
