"""A finished report without secrets and identities, whatever it was made from.

Evidence of a live machine and of a bundle is masked before anybody sees it; a folder, an archive or a pasted text is
not, and reports of those are posted too. So what a report says is masked once more, by a masker that knows nothing but
the evidence: a live report and that of its bundle stay equal, since masking what is masked changes nothing.

Most of what a report says holds nothing of the kind. ``notable`` tells that at a glance, so that a report of a masked
bundle costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from rocdoctor.host.base import Host
from rocdoctor.model.finding import Cause, Diagnosis, Finding, Verdict
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.shell_command import reworded

if TYPE_CHECKING:
    from rocdoctor.host.masking.masker import Masker

# Words beside which secrets and identities stand and forms that they have, in lower case.
_NOTABLE = regex(
    r"(?:root|bind|user|admin)pw|kennwort|mot de passe|\bmdp\b|senha|wachtwoord|passord|adgangskode|heslo|"
    r"salasana|parola|"
    r"user(?:add|mod|del) |gpasswd|kinit|setfacl|\d:\d\d:\d\d[.\d]{0,7}[+\d:]{0,6} [a-z]|-addr|(?:full|real) name|"
    r"(?:i|vpc|subnet|sg|eni|vol)-0[0-9a-f]|project_id|\bmac\b|hwaddr|\bether\b|physical addr|/dev/nvme|"
    r"\"[shr]-[0-9a-f]|"
    r"mysql|mariadb|ipmitool|redis-cli|openssl|smbclient|ldap|htpasswd|mongo|sqlcmd|\b7?zip |unzip|net use|snmp|"
    r"passw|passphrase|passcode|passkey|pass[\"']?[ \t]{0,3}[=:?|+]|requirepass|pass (?:for|of|on|to) |secret|"
    r"credential|pwd|psk|\bpw\b|"
    r"token|auth|keys?[\"']?[ =:]|jwt|cookie|webhook|session|phrase|(?:recovery|verification|backup)[ _-]?code|"
    r"\botp\b|\bpin\b|community|bearer|basic |signature|identified|private|vault|login|apikey|munge|sessid|"
    r"user(?:name|id)?[\"']?[=:]|(?:for|of|by|to|as|invalid|running as) user |user\.name|account|author|-by:|"
    r"from:|to:|cc:|uid|logname|acct|guid|serial|s/n|\bsn\b|asset|service.?tag|machine.?id|boot.?id|invocation|"
    r"wwn|wwid|eui|naa\.|nvme\.|fru|ssid|wifi|by-id|/media/|host[^a-z .,;)]|hostname|host[\"']?[ ]{0,12}[=:]|"
    r"node.?(?:list|name|addr|desc|host)|\bnode:|batch|alloc|partition=|qos=|wckey|reservation|jobname|cluster|"
    r"nccl|_addr|endpoint|slots|namespace|linux [^\d(]|kernel:|\]:|pts/|tty\d|cifs|nfs|lustre|mount |"
    r"sudo(?:\[|:| -u)|\bsu\b|chown|cron|(?:ssh|scp|rsync|sftp|mosh) |mpirun|mpiexec|srun|sbatch|salloc|pdsh|curl|"
    r"(?:config|configure|secrets?|variable|vars|env|kv|option|auth|vastai) set |setenv|echo |arn:|resourcegroups|"
    r"projects?/|logged in|unique.?id|hive.?id|gpu-[0-9a-f]|mig-[0-9a-f]|enx|wlx|maintainer|/home/(?!user\b)|"
    r"/home\d|/homes/|users[/\\]|scratch|/work|/gpfs|/fsx|/lustre|/beegfs|/ptmp|/people/|/u/|\\|@[\w\"]|://|(?:^|\s)//|"
    r"%[0-9a-f]{2}|\$[0-9a-z]|\d\.\d{1,3}\.\d{1,3}\.\d|(?:[0-9a-f]{2}[:-]){3}|(?:[0-9a-f]{0,4}:){3}|::|"
    r"[0-9a-f]{4}\.[0-9a-f]{4}\.|[a-z0-9]\.[a-z0-9.-]{1,80}\.[a-z]{2,12}(?![a-z0-9_])|"
    r"[a-z0-9_-]\.(?:edu|gov|mil|lan|intranet|corp|local|internal)\b|(?:[0-9a-f]{2}[: ]){12}|[rwx-]{9}|"
    r"[\"'][ ]?,[ ]?[\"']|\bpdi\b|/(?:ibex|rds|p|lus)/|torchinductor_|pytest-of-|hsperfdata_|/mail/|/cron|/s-[a-z]|"
    r"(?:^|\n)[ \t]{0,8}(?:user|host|groups)[ :\t=]|\b(?:user|project|mail|host|on) <|\(s\) <|e(?:user|group)\b|"
    r"job_owner|exec_(?:host|vnode)|pbs_|(?:ou|dc|cn)=|\| ?(?:user|owner)|user[a-z]{0,4} {0,20}[|\u2502]|mi?b \||"
    r"http-basic|rabbitmq|ugfzc3dvcm|vxnlcm5hbwu|_user_|_actor|_creator|_committer|triggered|fqdn|user_name|"
    r"[a-z]\[\d{1,9}[,-]\d|push_to_hub|hub_model|upload|create_repo|git push|no_proxy|: ok=|"
    r"(?:ok|changed|fatal|skipping|unreachable|failed): \[|\| (?:changed|success|failed|unreachable)|"
    r"  (?:mon|tue|wed|thu|fri|sat|sun) [a-z]{3} |\[[a-z][\w.-]{1,80}:\d|&[#a-z]\w{1,7};|"
    r"(?:^|\n)[a-z_][\w.-]{0,40} : [^\n]{0,200}\b(?:video|render|docker|wheel|sudo|users)\b|"
    r"0x[0-9a-f]{9}|\d{15}|[^\x00-\x7f\u2013\u2014\u2026\u00b0\u00b5\u00d7]"
)
# The same of texts of several lines: the first lines of tables, and answers of several machines.
_NOTABLE_LINES = regex(
    r"\buser\b|\bnode|\bhost_|\bname |_key\b|(?:^|\n)[a-z][\w.-]{0,60}\d[\w.-]{0,40}: |\nkind:|chpasswd"
)
# Words that nobody would write by hand; names of variables are long too.
_LONG = regex(
    r"(?<![A-Za-z0-9_])(?![A-Z_]{20}|(?:[a-z]{1,14}_){2})[A-Za-z0-9_]{20}|_[op]at_|"
    r"(?=[A-Za-z_+/~.-]{0,19}[0-9])[A-Za-z0-9_~-]{20}|(?<![A-Za-z0-9+/])[A-Za-z0-9+][A-Za-z0-9+/]{39}|"
    r"[A-Z0-9]{5}-[A-Z0-9]{5}-|[A-Za-z0-9_-]{14}\.[A-Za-z0-9_-]{6}"
)


@lru_cache(maxsize=8192)
def notable(text: str) -> bool:
    """Whether masking might change a text; never wrong to say yes."""
    low = text.lower()
    found = _NOTABLE.search(low) or _LONG.search(text) or ("\n" in text and _NOTABLE_LINES.search(low))
    return bool(found)


def _knows_nothing() -> Masker:
    from rocdoctor.host.masking.masker import Masker

    return Masker()


@dataclass(slots=True)
class Discretion:
    """Masks what a report says; the masker is made when the first text needs it."""

    make: Callable[[], Masker] = _knows_nothing
    names: tuple[str, ...] = ()
    told: str = ""  # a text whose lines the report quotes: what one of them tells may stand in any other
    _masker: Masker | None = field(default=None)
    _learned: int = 0
    _all: bool = False  # names were learned that may stand anywhere
    _known: dict[str, str] = field(default_factory=dict)

    def _hear(self) -> None:
        """Makes the masker listen to the whole text, if that may tell anything."""
        told, self.told = self.told, ""
        if not notable.__wrapped__(told):
            return
        masker = self.make()
        before = masker.learned()
        masker.hear(told)
        if masker.learned() != before:
            self._masker, self._learned, self._all = masker, masker.learned(), True

    def __call__(self, text: str) -> str:
        if self.told and text:
            self._hear()
        if not text or not (self._all or notable(text) or any(name in text.lower() for name in self.names)):
            return text
        if text not in self._known:
            if self._masker is None:
                self._masker = self.make()
                self._learned = self._masker.learned()
            self._known[text] = self._masker.mask_text(text)
        return self._known[text]

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Several texts of one report: what one of them tells is masked in all of them."""
        made = [self(text) for text in texts]
        return [self(text) for text in texts] if self.learned() else made

    @property
    def used(self) -> bool:
        """Whether anything had to be looked at closely."""
        return self._masker is not None

    def learned(self) -> bool:
        """Whether names were learned since the masker was made, or this was asked; all is masked anew then."""
        if self._masker is None or self._masker.learned() == self._learned:
            return False
        self._learned = self._masker.learned()
        self._known.clear()
        self._all = True
        return True


# Questions whose answers tell who and where: asked of evidence alone, where asking is looking up.
_TELLING = ("env", "read /etc/hostname", "read /proc/sys/kernel/hostname", "run hostname", "run uname -n", "run whoami")
_USERS = ("USER", "LOGNAME", "SUDO_USER", "USERNAME", "SLURM_JOB_USER")
_MASKED = regex(r"(?:user|host)-\d+(?:\.domain-\d+)?|<dropped>|masked-.*|~|localhost|root|user|")


def discretion_of(host: Host) -> Discretion:
    """What masks the reports of a host: it knows the names that the evidence tells, if the evidence still tells any."""
    from rocdoctor.host.recorder import masker_of

    known = masker_of(host)
    if known is not None:
        return Discretion(lambda: known)
    env: dict[str, str] = {}
    told = host.ask("text") if host.kind != "live" else None
    hosts: list[str] = []
    users: list[str] = []
    if host.kind != "live":
        for question in _TELLING:
            answer = host.ask(question)
            if not answer.ok:
                continue
            if question == "env":
                rows = (line.partition("=") for line in answer.text.splitlines() if "=" in line)
                env = {name: value for name, _, value in rows}
                users += [env.get(name, "") for name in _USERS]
                users.append(env.get("HOME", "").rstrip("/").rpartition("/")[2])
                hosts.append(env.get("HOSTNAME", ""))
            elif question == "run whoami":
                users.append(answer.text.strip())
            else:
                hosts.append(answer.text.strip().split("\n", 1)[0])
    hosts = [name for name in dict.fromkeys(hosts) if not _MASKED.fullmatch(name)]
    users = [name for name in dict.fromkeys(users) if not _MASKED.fullmatch(name)]

    def make() -> Masker:
        from rocdoctor.host.masking.masker import Masker

        masker = Masker()
        for name in hosts:
            masker.learn(hostname=name)
        masker.learn(extra_users=users, env=env)
        return masker

    names = tuple(name.lower().partition(".")[0] for name in (*hosts, *users) if len(name) > 2)
    return Discretion(make, names, told.text if told is not None and told.ok else "")


def discreet(diagnosis: Diagnosis, mask: Discretion, card: Iterable[str] = (), places: bool = True) -> Diagnosis:
    """The diagnosis as it may be posted; ``card`` are the lines about the machine.

    ``places``: also what findings are about and where they were read; a linter's findings are in files of the user.
    """
    lines = list(card)
    made = _once(diagnosis, mask, lines, places)
    if not mask.used:
        return diagnosis
    # What the last sentence tells may stand in the first.
    return _once(diagnosis, mask, lines, places) if mask.learned() else made


def _once(diagnosis: Diagnosis, mask: Discretion, card: Iterable[str], places: bool) -> Diagnosis:
    shown = tuple(mask(line) for line in card)
    unanswered = tuple(
        replace(one, question=mask(one.question), why=mask(one.why)) for one in diagnosis.machine.unanswered
    )
    return replace(
        diagnosis,
        card=shown,
        machine=replace(diagnosis.machine, unanswered=unanswered) if unanswered else diagnosis.machine,
        verdicts=tuple(_verdict(one, mask, places) for one in diagnosis.verdicts),
        causes=tuple(_cause(one, mask, places) for one in diagnosis.causes),
        next=tuple(
            replace(one, command=reworded(one.command, mask(one.command)), why=mask(one.why)) for one in diagnosis.next
        ),
        problems=tuple(mask(one) for one in diagnosis.problems),
    )


def _verdict(one: Verdict, mask: Discretion, places: bool) -> Verdict:
    subject, why = mask(one.subject) if places else one.subject, mask(one.why)
    new = None if one.finding is None else _finding(one.finding, mask, places)
    return (
        one
        if (subject, why, new) == (one.subject, one.why, None)
        else replace(one, subject=subject, why=why, finding=new)
    )


def _finding(found: Finding, mask: Discretion, places: bool) -> Finding:
    evidence = tuple(
        replace(one, value=mask(one.value), source=mask(one.source) if places else one.source) for one in found.evidence
    )
    fix = found.fix
    if fix is not None:
        command = reworded(fix.command, mask(fix.command))
        verify = reworded(fix.verify, mask(fix.verify))
        fix = replace(fix, text=mask(fix.text), command=command, verify=verify)
    subject = mask(found.subject) if places else found.subject
    return replace(found, message=mask(found.message), evidence=evidence, fix=fix, subject=subject)


def _cause(one: Cause, mask: Discretion, places: bool) -> Cause:
    subjects = tuple(mask(each) for each in one.subjects) if places else one.subjects
    finding = None if one.finding is None else _finding(one.finding, mask, places)
    return replace(one, message=mask(one.message), remedy=mask(one.remedy), subjects=subjects, finding=finding)
