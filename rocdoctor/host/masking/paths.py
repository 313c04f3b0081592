"""Names in paths, URLs and full host names: ``/scratch/NAME/x``, ``https://HOST/x``, ``node17.hpc.uni-x.de``.

Pure: text in, text out; ``user`` and ``host`` give what a name becomes. Folders and domains that everybody knows stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache

from rocdoctor.host.masking.rules import sub_lines
from rocdoctor.model.lazy_re import regex

Replace = Callable[[str], str]

_PART = r"[^\s/:\"'<>,;()\[\]{}|`*?$&=\\]{1,60}"
_HOME = regex(
    rf"(?<![A-Za-z0-9_.~-])(?P<k>(?:/[A-Za-z0-9_.-]{{1,40}}){{0,3}}/(?:homes?\d{{0,2}}|users|Users|people|jusers)/"
    rf"(?:(?P<i>[a-z])/(?=(?P=i)[\w.-]{{2}}|user-\d)|hcoda\d/\d{{1,2}}/|(?:local|domain)/[A-Z][A-Z0-9.-]{{1,30}}/)?)(?P<s>{_PART})(?:(?P<m>/)(?P<t>{_PART}))?"
)
# The same where slashes are escaped, and files and folders that are called like a person.
_HOME_CODED = regex(r"(?P<k>(?P<z>%2[Ff]|\\{1,2}/)(?:homes?\d{0,2}|[uU]sers)(?P=z))(?P<s>[A-Za-z0-9][\w.@+-]{0,40})")
_NAMED_LIKE = regex(
    r"(?P<k>/(?:torchinductor_|pytest-of-|hsperfdata_|spool/mail/|var/mail/|spool/cron/(?:crontabs/|tabs/)?|screens?/S-))"
    r"(?P<s>(?!crontabs\b|tabs\b)[A-Za-z][\w.-]{0,40})"
)
_NAMED_WORDS = ("torchinductor_", "pytest-of-", "hsperfdata_", "/mail/", "/cron/", "/s-")
_WINDOWS = regex(
    r"(?P<k>(?<![A-Za-z0-9])(?:[A-Za-z]:(?:\\{1,2}|/)|/mnt/[a-z]/|/(?:cygdrive/)?[a-z]/)"
    r"(?:[Uu]sers|Documents and Settings)(?:\\{1,2}|/)|"
    r"(?:(?<=^)|(?<=[\s\"'=]))\\{2}[A-Za-z0-9][\w.-]{0,100}\\(?:homes?|users|profiles)\$?\\|"
    r"(?<=\.\.\.)/?homes?/|(?<![A-Za-z0-9])(?!https?:)[a-z][a-z0-9+-]{1,20}://[^\s/\"'<>]{0,100}/(?:homes?|users)/)"
    r"(?P<s>[^\\/:*?\"<>|\n]{1,40}(?=[\\/\"])|[^\s\\/:*?\"<>|]{1,40}(?: [A-Z][^\s\\/:*?\"<>|]{1,40}(?=$))?)",
    re.MULTILINE,
)
_WINDOWS_WORDS = ("users", "documents and", "home", "profiles")  # in lower case, one of which its matches hold
# Where people have folders of their own at once, and where they have them below a folder for users.
_SHARE = regex(
    r"(?<![A-Za-z0-9_.~-])(?P<k>/(?:(?P<own>(?:net|local|p)?scratch|work|gpfs|fsx|lustre|beegfs|ptmp|u|p/(?:project|scratch|data|fastdata|largedata)|"
    r"lus/[a-z]{1,20}/projects|nobackup|nfshomes|rhome|global/u\d|[a-z]{2,12}_?scratch|(?:leonardo|m100|marconi)_?(?:work|scratch|fast))|"
    r"ibex|rds|data|mnt|storage|nfs|cluster|shared|efs|ceph|cephfs|raid|ssd|global|vast|weka|srv|export|var|projects?|"
    r"proj|ocean|expanse|fs|n|clusterfs|autofs|cfs|mimer|pfs|iopsstor|capstor|leonardo|m100|vol|flash|hpc|blue|orange)\d{0,2})"
    r"(?P<p>(?:/[A-Za-z0-9_.+@-]{1,60}){1,6})(?P<z>/?)"
)
_BELOW = regex(
    r"(?:[\w.-]{0,30}(?:scratch|homes?|nobackup|users?|people))\d{0,3}|userexternal|usertrain|proj-shared",
    re.IGNORECASE,
)
# Where groups have folders, and people theirs below these.
_GROUPED = regex(r"projects?\d{0,2}|proj|groups?|cdirs|nobackup|work|turbo|ess|blue|orange", re.IGNORECASE)
# Codes of projects, and what only sorts: names of file systems, sizes, sites.
_CODE = regex(r"[A-Za-z]{1,6}_?\d{3,9}[a-z]?|[A-Z]{2,8}_\w{1,20}|project_\w{1,20}|[a-z]{2,3}\d{2,4}[a-z]?")
_SORTS = frozenset(
    (
        *("gpfs", "lustre", "beegfs", "ceph", "cephfs", "nfs", "large", "small", "fast", "slow", "bulk", "flash"),
        *(
            "local",
            "domain",
            "shared",
            "common",
            "cscs",
            "klemming",
            "fs0",
            "fs1",
            "fs2",
            "userexternal",
            "usertrain",
            "work",
        ),
    )
)
_ACCOUNT = regex(r"[a-z]{2,14}_[a-z]{1,2}|[a-z]{1,4}\d{3,6}[a-z]{0,3}|[a-z]{1,3}\.[a-z]{2,20}")
_GROUPS = frozenset(
    (
        "students",
        "student",
        "staff",
        "faculty",
        "users",
        "guests",
        "groups",
        "grp",
        "physics",
        "phys",
        "chemistry",
        "chem",
        "bio",
        "biology",
        "math",
        "maths",
        "cs",
        "eng",
        "med",
        "lab",
        "labs",
        "research",
        "phd",
        "msc",
        "dept",
        "inst",
        "ai",
        "nlp",
        "ml",
        "mpi",
        "project",
        "projects",
        "prj",
        "hpc",
    )
)
# Folders that only sort the homes below them, as do the realms of a directory.
_SORTING = frozenset(("shared", "local", "domain", "ad", "ldap", "nfs", "common", "userexternal", "usertrain"))
_SORTING_NAME = regex(r"(?:projects?|groups?|vol|fs)\d{0,3}", re.IGNORECASE)
_REALM = regex(r"[A-Z][A-Z0-9-]{1,14}(?:\.[A-Z0-9.-]{1,30})?")
_WORDS = regex(r"[a-z]+")

_URL = regex(
    r"(?P<k>(?<![A-Za-z0-9])(?!(?:chrome|edge|brave|about|devtools)://|"
    r"(?:docker|oras|library|shub)://[A-Za-z0-9_-]{1,60}(?![\w.-]|:\d{2,5}/))[A-Za-z][A-Za-z0-9+-]{1,20}://(?:masked-userinfo@)?)(?P<s>[A-Za-z0-9][A-Za-z0-9_-]{0,62}(?:\.[A-Za-z0-9_-]{1,62}){0,8})"
)
_FULL = regex(
    r"(?<![A-Za-z0-9_./@%+=-])(?P<s>(?P<f>[A-Za-z][A-Za-z0-9-]{0,62})(?P<r>(?:\.[A-Za-z0-9][A-Za-z0-9-]{0,62}){0,5})\."
    r"(?P<t>edu|gov|mil|lan|local|internal|intranet|corp|localdomain|hpc|cluster|arpa|de|ch|at|fr|uk|nl|be|dk|se|no|fi|es|"
    r"it|cz|hu|jp|kr|cn|au|ca|br|eu|nz|tw|sg|hk|za|ie|gr|pl|pt|ro|tr|ua|ru|com|org|net|io|cloud|ai))(?![A-Za-z0-9_(@-]|\.[A-Za-z0-9_])"
)
_TOP = regex(
    r"\.(?:edu|gov|mil|lan|local|internal|intranet|corp|localdomain|hpc|cluster|arpa|de|ch|at|fr|uk|nl|be|dk|se|no|fi|es|"
    r"it|cz|hu|jp|kr|cn|au|ca|br|eu|nz|tw|sg|hk|za|ie|gr|pl|pt|ro|tr|ua|ru|com|org|net|io|cloud|ai)(?![a-z0-9_(@-])"
)
# Countries whose domains no attribute of a program is called like: host.site.de is a machine of a site.
_COUNTRIES = frozenset(
    (
        *("de", "fr", "uk", "nl", "ch", "dk", "se", "fi", "cz", "hu", "pl", "pt", "ro", "gr", "ie", "tr", "ua", "ru"),
        *("jp", "kr", "cn", "tw", "sg", "hk", "au", "nz", "br", "za"),
    )
)
_INSTITUTIONS = frozenset(("edu", "gov", "mil", "lan", "intranet", "corp", "localdomain", "hpc"))


# What a text must hold, in lower case, for one of these to change it.
WORDS = frozenset(
    (
        *("/home", "users", "/people/", "scratch", "/work", "/gpfs", "/fsx", "/lustre", "/beegfs", "/ptmp", "/u/"),
        *("/user/", "/p/", "/lus/", "%2fhome", "%2fusers", "\\/home", "\\home", "\\users", "\\profiles"),
        *("documents and settings", "nobackup", "nfshomes", "/rhome", "/proj", "/groups/", "/cdirs/", "/blue/"),
        *("/orange/", *_NAMED_WORDS),
        *("_home", "global/u", "/project", "...home", "_work/", "/ess/", "/turbo/", "homes/"),
    )
)


def mask_paths(text: str, low: str, user: Replace, found_user: Replace, folders: Collection[str]) -> str:
    """The text with the names of people in paths replaced; ``low`` is the text in lower case."""
    if not any(word in low for word in WORDS):
        return text
    if "%2f" in low or "\\/" in low:
        text = _HOME_CODED.sub(lambda m: m["k"] + found_user(m["s"]), text)
    if any(word in low for word in _NAMED_WORDS):
        text = _NAMED_LIKE.sub(lambda m: m["k"] + found_user(m["s"]), text)
    if any(word in low for word in ("users", "home", "/people/", "\\profiles", "documents and")):
        text = sub_lines(_WINDOWS, lambda m: m["k"] + found_user(m["s"]), text, _WINDOWS_WORDS)
        text = _HOME.sub(lambda m: _home(m, user, found_user, folders), text)
    return _SHARE.sub(lambda m: _share(m, user, folders), text)


def _home(match: re.Match[str], user: Replace, found_user: Replace, folders: Collection[str]) -> str:
    name, second = match["s"], match["t"]
    last = match.end() == len(match.string) or match.string[match.end()] != "/"
    sorting = name.lower() in _SORTING or _SORTING_NAME.fullmatch(name) is not None
    if second is not None and (sorting or _REALM.fullmatch(name)):
        kept = is_known(second, folders) or second.startswith((".", "user-")) or (last and "." in second)
        return f"{match['k']}{name}/{second if kept else found_user(second)}"
    first = name if _numeric(name) or sorting else found_user(name)
    if second is None:
        return match["k"] + first
    if last:
        return f"{match['k']}{first}/{second}"
    person = _ACCOUNT.fullmatch(second) or name.lower() in _GROUPS
    kept = not person or second.startswith(".") or is_known(second, folders)
    return f"{match['k']}{first}/{second if kept else user(second)}"


def _share(match: re.Match[str], user: Replace, folders: Collection[str]) -> str:
    parts = match["p"][1:].split("/")
    own = match["own"] is not None
    grouped = own and match["own"].startswith(("p/", "lus/", "leonardo", "m100", "marconi"))
    marks = [number for number, part in enumerate(parts) if _BELOW.fullmatch(part)]
    first = marks[0] + 1 if marks else 0
    top = match["k"].rpartition("/")[2]
    if not own and not marks:
        groups = [number for number, part in enumerate(parts) if _GROUPED.fullmatch(part)]
        if not groups and not _GROUPED.fullmatch(top):
            return match.group()
        first, grouped = (groups[0] + 1 if groups else 0), True
    replaced = 0
    people = False  # below the folder of a group that has a usual name
    named = grouped and not own  # below a folder for projects, which are called after what they are about
    for number in range(first, len(parts)):
        part = parts[number]
        last = number == len(parts) - 1 and not match["z"]
        if part.startswith(("user-", ".")) or (last and "." in part):
            break
        following = parts[number + 1] if not last and number + 1 < len(parts) else ""
        if not last and (_sorts(part, grouped) or _leads_to_user(part, following)):
            of_projects = _GROUPED.fullmatch(part) is not None and not (own and part == "work")
            people = people or (part.lower() in _GROUPS and not of_projects)
            named = named or of_projects
            grouped = grouped or of_projects
            continue
        code = _CODE.fullmatch(part) is not None and _PROJECT.fullmatch(part) is None
        if named and not replaced and not code and not people:
            break
        if _PROJECT.fullmatch(part) or (not is_known(part, folders) and not _numeric(part)):
            parts[number] = user(part)
            replaced += 1
            if replaced == 1 and (grouped or code or _PROJECT.fullmatch(part)):  # and the people who work on it
                continue
        elif any(mark > number for mark in marks):
            continue
        break
    return f"{match['k']}/{'/'.join(parts)}{match['z']}"


def _sorts(part: str, grouped: bool) -> bool:
    usual = part.lower() in _SORTS or part.lower() in _GROUPS
    return usual or _BELOW.fullmatch(part) is not None or (grouped and _GROUPED.fullmatch(part) is not None)


_PROJECT = regex(r"project_\d{5,12}")


def _leads_to_user(part: str, following: str) -> bool:
    """Whether a folder only sorts those of people: an initial letter, what stands before one, or a number."""
    initial = len(part) == 1 and len(following) > 2 and following.startswith((part, "user-"))
    return initial or part.isdigit() or (len(part) == 2 and len(following) == 1)


def _numeric(name: str) -> bool:
    return name.replace(".", "").isdigit()


@lru_cache(maxsize=4096)
def _among(name: str, folders: frozenset[str]) -> bool:
    words = _WORDS.findall(name)
    return name in folders or not words or any(word in folders for word in words if len(word) > 1)


def is_known(name: str, folders: Collection[str]) -> bool:
    """Whether a folder is called like what lies in it (``hf_cache``, ``llama-7b``)."""
    return _among(name.lower(), folders if isinstance(folders, frozenset) else frozenset(folders))


def mask_hosts(text: str, low: str, host: Replace, public: Collection[str], common: Collection[str]) -> str:
    """The text with the hosts of URLs and full host names replaced, unless their domain is one that everybody knows."""
    if "://" in text:
        text = sub_lines(_URL, lambda m: m["k"] + _of_url(m["s"], host, public, common), text, ("://",))
    tops = {match.group() for match in _TOP.finditer(low)}
    return sub_lines(_FULL, lambda m: _full(m, host, public, common), text, tops) if tops else text


def _of_url(name: str, host: Replace, public: Collection[str], common: Collection[str]) -> str:
    low = name.lower()
    if is_public(low, public):
        return name
    if "." not in name and (low in common or len(name) < 3 or not any(char.isalpha() for char in name)):
        return name
    return host(name)


def _full(match: re.Match[str], host: Replace, public: Collection[str], common: Collection[str]) -> str:
    name, labels = match["s"], match["r"].count(".") + 1
    top = match["t"]
    telling = any(char == "-" or char.isdigit() for char in match["f"] + match["r"])
    if is_public(name.lower(), public):
        return name
    if top in _INSTITUTIONS:
        sure = top not in ("hpc", "corp") or labels >= 2 or telling
    else:
        site = name.rsplit(".", 2)[-2].lower()
        sure = labels >= 2 and (telling or (top in _COUNTRIES and site not in common and len(site) > 2))
    return host(name) if sure else name


def is_public(name: str, public: Collection[str]) -> bool:
    """Whether a host is one of a public domain, or that domain."""
    name = name.rstrip(".")
    while name and name not in public:
        name = name.partition(".")[2]
    return bool(name)
