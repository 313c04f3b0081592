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
from rocdoctor.model.subject import Subject

if TYPE_CHECKING:
    from rocdoctor.host.masking.masker import Masker

# Words beside which secrets and identities stand, in lower case; asked one by one, which costs no compiling.
_SAID = (
    "storepass|keypass|7z |7za |rar |runuser|sig=|honeycomb|"
    "rootpw|bindpw|userpw|adminpw|kennwort|mot de passe|senha|wachtwoord|passord|adgangskode|heslo|salasana|"
    "parola|useradd |usermod |userdel |kinit|setfacl|-addr|full name|real name|project_id|hwaddr|physical addr|"
    "/dev/nvme|mysql|mariadb|ipmitool|redis-cli|openssl|smbclient|ldap|mongo|sqlcmd|unzip|net use|snmp|passw|"
    "passcode|passkey|requirepass|pass for |pass of |pass on |pass to |secret|credential|pwd|psk|token|auth|jwt|"
    "cookie|webhook|session|phrase|community|bearer|basic |signature|identified|private|vault|login|apikey|"
    "munge|for user |of user |by user |to user |as user |invalid user |user.name|account|-by:|from:|to:|cc:|uid|"
    "logname|acct|serial|s/n|asset|invocation|wwn|wwid|eui|naa.|nvme.|fru|ssid|wifi|by-id|/media/|hostname|"
    "batch|alloc|partition=|qos=|wckey|reservation|jobname|cluster|nccl|_addr|endpoint|slots|namespace|kernel:|"
    "]:|pts/|cifs|nfs|lustre|mount |chown|cron|ssh |scp |rsync |sftp |mosh |mpirun|mpiexec|srun|pdsh|curl|"
    "setenv|echo |arn:|resourcegroups|logged in|enx|wlx|maintainer|/homes/|scratch|/work|/gpfs|/fsx|/beegfs|"
    "/ptmp|/people/|/u/|\\|://|::|/ibex/|/rds/|/p/|/lus/|torchinductor_|pytest-of-|hsperfdata_|/mail/|job_owner|"
    "exec_host|exec_vnode|pbs_|ou=|dc=|cn=|http-basic|rabbitmq|ugfzc3dvcm|vxnlcm5hbwu|_user_|_actor|_creator|"
    "_committer|triggered|fqdn|user_name|push_to_hub|hub_model|upload|create_repo|git push|no_proxy|: ok=|ok: [|"
    "changed: [|fatal: [|skipping: [|unreachable: [|failed: [|setuser| on >| off >| ~* | +@|racadm|freerdp|rdesktop|"
    "unrar|rar |twine|cargo|sqlplus|sqlldr|expdp|impdp|rman |lftp|net ads|net rpc|wbinfo|from-literal|mkpasswd|gpg|"
    "bootloader|nmcli|d-i |poll |skip |psexec|schtasks|wmic|winrm|ncftp|influx|cqlsh|isql |bcp |clickhouse|neo4j|"
    "virsh|mosquitto|keytool|pdftk|qpdf|storcli|--security-|log in |sign in |signed in |seed|totp|2fa|mfa|mnemonic|"
    "ssh-keygen|securestring|<<<"
)
_WORDS = tuple(_SAID.split("|"))
# Forms that they have, and words that only their neighbours make telling.
_NOTABLE = regex(
    r"\bmdp\b|\d:\d\d:\d\d[.\d]{0,7}[+\d:]{0,6} [a-z]|(?:i|vpc|subnet|sg|eni|vol)-0[0-9a-f]|\bmac\b|\bether\b|"
    r"\"[shr]-[0-9a-f]|\b7?zip |pass[\"']?[ \t]{0,3}[=:?|+]|\bpw\b|keys?[\"']?[ =:]|"
    r"(?:recovery|verification|backup)[ _-]?code|\botp\b|\bpin\b|user(?:name|id)?[\"']?[=:]|\bsn\b|service.?tag|"
    r"machine.?id|boot.?id|host[^a-z .,;)]|host[\"']?[ ]{0,12}[=:]|node.?(?:list|name|addr|desc|host)|\bnode:|"
    r"linux [^\d(]|tty\d|sudo(?:\[|:| -u)|\bsu\b|"
    r"(?:config|configure|secrets?|variable|vars|env|kv|option|auth|vastai) set |projects?/|unique.?id|hive.?id|"
    r"gpu-[0-9a-f]|mig-[0-9a-f]|/home/(?!user\b)|/home\d|users[/\\]|@[\w\"]|(?:^|\s)//|%[0-9a-f]{2}|\$[0-9a-z]|"
    r"\d\.\d{1,3}\.\d{1,3}\.\d|(?:[0-9a-f]{2}[:-]){3}|(?:[0-9a-f]{0,4}:){3}|[0-9a-f]{4}\.[0-9a-f]{4}\.|"
    r"[a-z0-9]\.[a-z0-9.-]{1,80}\.[a-z]{2,12}(?![a-z0-9_])|"
    r"[a-z0-9_-]\.(?:edu|gov|mil|lan|intranet|corp|local|internal)\b|(?:[0-9a-f]{2}[: ]){12}|[rwx-]{9}|"
    r"[\"'][ ]?,[ ]?[\"']|\bpdi\b|/s-[a-z]|(?:^|\n)[ \t]{0,8}(?:user|host|groups)[ :\t=]|"
    r"\b(?:user|project|mail|host|on) <|\(s\) <|e(?:user|group)\b|\| ?(?:user|owner)|"
    r"user[a-z]{0,4} {0,20}[|\u2502]|mi?b \||[a-z]\[\d{1,9}[,-]\d|  (?:mon|tue|wed|thu|fri|sat|sun) [a-z]{3} |"
    r"\[[a-z][\w.-]{1,80}:\d|&[#a-z]\w{1,7};|"
    r"(?:^|\n)[a-z_][\w.-]{0,40} : [^\n]{0,200}\b(?:video|render|docker|wheel|sudo|users)\b|0x[0-9a-f]{9}|\d{15}|"
    r"[^\x00-\x7f\u2013\u2014\u2026\u00b0\u00b5\u00d7]|\| (?:changed|success|failed|unreachable)"
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
    found = (
        any(map(low.__contains__, _WORDS))
        or _NOTABLE.search(low)
        or _LONG.search(text)
        or ("\n" in text and _NOTABLE_LINES.search(low))
    )
    return bool(found)


def _knows_nothing() -> Masker:
    from rocdoctor.host.masking.masker import Masker

    return Masker()


_MOST_HEARD = 4 * 1024 * 1024  # characters of a text whose lines may tell of each other


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
        """Makes the masker listen to the text; whatever the report then quotes is looked at closely."""
        told, self.told = self.told, ""
        masker = self.make()
        masker.hear(told[:_MOST_HEARD])
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
    subject, why = _subject(one.subject, mask) if places else one.subject, mask(one.why)
    new = None if one.finding is None else _finding(one.finding, mask, places)
    if (subject, why, new) == (one.subject, one.why, None):
        return one
    gap = None if one.gap is None else replace(one.gap, why=why)
    return replace(one, subject=subject, why=why, gap=gap, finding=new)


def _subject(one: Subject, mask: Discretion) -> Subject:
    """What it is about, its name masked as it stands in the label; what masking leaves alone stays the same value."""
    return one if mask(one.label) == one.label else one.named(mask)


def _finding(found: Finding, mask: Discretion, places: bool) -> Finding:
    evidence = tuple(
        replace(one, value=mask(one.value), source=mask(one.source) if places else one.source) for one in found.evidence
    )
    fix = found.fix
    if fix is not None:
        command = reworded(fix.command, mask(fix.command))
        verify = reworded(fix.verify, mask(fix.verify))
        fix = replace(fix, text=mask(fix.text), command=command, verify=verify)
    subject = _subject(found.subject, mask) if places and found.subject is not None else found.subject
    return replace(found, message=mask(found.message), evidence=evidence, fix=fix, subject=subject)


def _cause(one: Cause, mask: Discretion, places: bool) -> Cause:
    subjects = tuple(_subject(each, mask) for each in one.subjects) if places else one.subjects
    finding = None if one.finding is None else _finding(one.finding, mask, places)
    return replace(one, message=mask(one.message), remedy=mask(one.remedy), subjects=subjects, finding=finding)
