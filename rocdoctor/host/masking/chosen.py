"""Whether a word looks chosen, as passwords do, or is a technical word: a version, a path, a type, an algorithm."""

from __future__ import annotations

from functools import lru_cache

from rocdoctor.host.masking.rules import load_tables
from rocdoctor.host.masking.telling import NAME_OF_VARIABLE, placeholder, strongest_kind
from rocdoctor.model.lazy_re import regex

_LEAST = 5
_LONGEST = 400
_SIGNS = frozenset("!#$%^&*?~@")
_LETTERS_ALONE = frozenset("!#%^*?~")  # signs that no word without digits has by chance
_MOST_NUMBERED = 2  # humps with digits in a name
# The humps of a name: Ed25519, Private, Key; and standards: PKCS#12.
_HUMP = regex(r"[A-Z]{0,20}[a-z]{0,40}\d{0,8}")
_NUMBERED_WORD = regex(r"[A-Z]{1,6}#\d{1,3}")
_LETTER = regex(r"[A-Za-z]")
_DIGIT = regex(r"[0-9]")
# Paths, options, variables, formats, expressions: what no password among other words begins with or holds.
_BEGINS = ("/", "~", "./", "../", "-", "$", "%", "{", "<", "[", "(", "*", "=", "&", "\\")
_HOLDS = ("://", "%s", "%d", "%(", "{", "}", "(", ")", "[", "]", "::", "->", "==", ">=", "<=", "\\n", "masked-")
_PARTS = regex(r"[-_.:/+=@,~]")
_NUMBERED = regex(r"\d\.\d")
_FILE = regex(
    r"\.(?:py|txt|md|ya?ml|json|toml|ini|cfg|conf|so|c|h|cc|cpp|rs|go|js|ts|sh|log|html?|pem|crt|key|db|sql|csv|gz|xz|"
    r"zip|tar|whl|deb|rpm|service|target|socket|lock|env|xml|png)(?:\.\d{1,6}|:\d{1,9})?\Z"
)
_CODE = regex(r"0x[0-9a-fA-F]{1,40}|[0-9a-f]{7,8}|[0-9a-f]{40}|[0-9a-f]{64}")
# Algorithms, standards, devices and formats with a number in their name; counts with their unit.
_KNOWN = regex(
    r"(?:pbkdf|hmac|pkcs|s?sha|md|aes|rsa|ecdsa|dsa|ed|x|curve|secp|blake|bcrypt|argon|scrypt|des|rc|"
    r"chacha|poly|gcm|cbc|"
    r"base|utf|latin|iso|cp|rfc|cve|oauth|saml|ntlmv?|krb|tls|tlsv|ssl|sslv|http|ipv?|smb|imap|pop|ldap|"
    r"win|ssh|kv|api|amd|"
    r"arm|aarch|python|cpython|pypy|php|java|jdk|node|nodejs|perl|ruby|gcc|clang|mysql|mariadb|postgres|"
    r"postgresql|sqlite|"
    r"redis|mongo|gfx|mlx|cuda|rocm|hip|rank|gpu|cpu|host|user|port|eth|ens|eno|enp|wlan|ttys?|pts|nvme|"
    r"dev|disk|step|test|"
    r"case|level|type|line|page|part|phase|stage|attempt|try|slot|field|item|row|col|uid|gid|int|uint|"
    r"float|fips|nist|log|"
    r"neo|totp|fido|varchar|nvarchar|char|text|usb|pci|mac|ext|rail|bond|vlan|tun|tap|veth|thread|worker|"
    r"version|section|"
    r"key|id|arg|param|build|ubuntu|deb|fedora|rhel|centos|dfsg|rev|group|secret|passw(?:or)?d|token|name|auth)"
    r"\d{1,5}[a-z]{0,3}\d{0,3}|[a-z]{1,3}\d{1,2}[a-z]?\d{0,2}|x86|amd64|\d{1,6}[a-z]{1,4}\d{0,2}|i18n|"
    r"l10n|k8s|a11y|p2p|e2e|x509v3|"
    r"utf8mb\d|(?:last|keep|one|1)pass\w{0,5}|1password|\d{1,8}t\d{1,8}(?:z|\.\d{1,9}z?)?",
    2,
)
_TYPES = regex(
    r"[&*]{0,2}(?:str|string|bytes|bytea|text|char|varchar|any|object|int|bool|boolean|float|none|null|"
    r"nil|secret(?:str|string)?|"
    r"password|securestring|self|this|undefined|void|var|let|const|number|unknown|option|optional)(?:\[\])?[?!]?",
    2,
)
_PARAMETER = regex(
    r"[&*]{0,2}(?:str|[Ss]tring|bytes|bool|boolean|int|float|any|Any|Secret(?:Str|String|Bytes)|"
    r"SecureString|Buffer|void)"
    r"(?:\[\])?[?!]?"
)
# What a sentence, a form or a program says in place of a password.
_STATES = regex(
    r"required|optional|default|none|empty|blank|missing|invalid|wrong|incorrect|changed?|reset|unset|set|"
    r"hidden|masked|redacted|"
    r"login|admin|root|name|e?mail|type|values?|text|string|input|submit|label|help|error|role|plain|ask|"
    r"prompt|env|file|stdin|keyring|anything|something|nothing|whatever|placeholder|example|test|utf|ascii|latin|"
    r"sensitive|encrypted|hashed|unknown|same|new|old|current|yes|no|true|false|on|off|it|this|that|them|"
    r"him|her|me|you|us|all|"
    r"any|both|each|one|two|other|more|less|host|server|client|config|settings?|r|w|rb|wb|basic|bearer|"
    r"digest|post|get|put|"
    r"id|user|username|updated|created|deleted|generated|expired|expiry|locked|disabled|enabled|ok|failed|"
    r"success|passed|"
    r"configmap|description|comment|notes?|column|field|key|length|size|count|and|or|not|a|an|same-origin|"
    r"include|omit|the|be|been|is|are|was|have|incorrect|mismatch(?:ed|es)?|match(?:ed|es)?|rejected|accepted|denied|"
    r"refused|authentications?|successful(?:ly)?|failures?|policy|plugins?|modules?|service|prompts?|entry|entered|given|"
    r"expires|aging|strength|cached?|recovery|protected|protection|verif(?:y|ied|ication)|correct|needed|used|unchanged|"
    r"too|lookups?|callbacks?|sync|stored?|agents?|dialog|rotat(?:ed|ion)|removed?|added|lists?|tables?|databases?|"
    r"check(?:s|ed|ing)?|retry|again|twice|confirm(?:ed|ation)?|hash(?:es|ing)?|groups?|providers?|managers?|backends?|"
    r"tests?|works?|worked|loaded|found|read|written|sent|received|supplied|provided|allowed|forbidden|optional|"
    r"authenticated|authorized|unauthorized|visible|shown|protocols?|handlers?|tokens?|algorithms?|rules?|levels?",
    2,
)
# Names of fields: password_hash, newPassword, api-key.
_TELLS = regex(
    r"(?i:[a-z_-]{0,40}(?:pass(?:w(?:or)?d|phrase|code|key)s?|secrets?|credentials?|tokens?|pwd)[a-z_-]{0,40}:?)"
)
_PSEUDONYM = regex(r"(?:user|host|email|domain|ip|person|account|serial|uuid|project|group|job)-\d[\w.-]{0,60}")


@lru_cache(maxsize=4096)
def harmless(value: str) -> bool:
    """Whether a word that stands where a password may stand is none."""
    bare = value.strip().rstrip(".,;:!?)")
    if not bare or len(bare) > _LONGEST or "masked-" in value or "<dropped>" in value:
        return True
    if placeholder(bare) or NAME_OF_VARIABLE.fullmatch(bare) or bare in load_tables().inert:
        return True
    if _TYPES.fullmatch(bare) or _STATES.fullmatch(bare) or _TELLS.fullmatch(bare):
        return True
    return "://" in bare or _PSEUDONYM.fullmatch(bare) is not None or strongest_kind(bare, load_tables(), 3) == "strong"


@lru_cache(maxsize=4096)
def looks_chosen(value: str, quoted: bool = False) -> bool:
    """Whether nobody writes the word by chance: letters with digits or signs, and no technical word."""
    word = value if quoted else value.rstrip(".,;:!?)")
    if not _LEAST <= len(word) <= _LONGEST or harmless(word) or not _LETTER.search(word):
        return False
    if word.startswith(_BEGINS) or any(sign in word for sign in _HOLDS) or " " in word:
        return False
    if not _DIGIT.search(word):
        return quoted and not _LETTERS_ALONE.isdisjoint(word[1:-1]) and "@" not in word
    if _NUMBERED.search(word) or _FILE.search(word) or _CODE.fullmatch(word) or _NUMBERED_WORD.fullmatch(word):
        return False
    if not _SIGNS.isdisjoint(word[:-1]) and "@" not in word:
        return True
    mixed = [part for part in _PARTS.split(word) if _LETTER.search(part) and _DIGIT.search(part)]
    return any(not _technical(part) for part in mixed)


def _technical(part: str) -> bool:
    """Whether it is the name of an algorithm, a device or a format, also as a hump of a longer name."""
    if _KNOWN.fullmatch(part):
        return True
    humps = [hump for hump in _HUMP.findall(part) if _DIGIT.search(hump) and _LETTER.search(hump)]
    named = part[:1].isupper() and part not in humps and 0 < len(humps) <= _MOST_NUMBERED
    return named and all(map(_KNOWN.fullmatch, humps))


def is_type(value: str) -> bool:
    """Whether a word is the type of a parameter: ``SecretStr)``, ``&str,``."""
    return _PARAMETER.fullmatch(value.split(" ", 1)[0].rstrip(",;)=")) is not None
