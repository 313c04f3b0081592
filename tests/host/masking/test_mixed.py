"""Masking of mixtures of all forms and of hostile repetitions: idempotent, line by line, and at linear cost."""

from __future__ import annotations

import random
import re
import sys
from types import FrameType

from rocdoctor.host.masking.masker import Masker
from tests.host.masking import written

_SEED = 20261124
_MIXTURES = 250
_SIGNS = "\n\t\\ '\"`=:;{}[]()<>$%&@#|,.^~*_-\u200b\uff1a"
_FORMS = [
    *(text for rows in (written.secrets() | written.identities()).values() for text, _ in rows),
    *written.sections("controls")["lines"],
]
_WORDS = [word for form in _FORMS[::3] for word in re.findall(r"\w+|\s+|[^\w\s]+", form)]

# Each was, or might have been, the beginning of work that grows faster than the text.
_HOSTILE = [
    *(
        "x \\\n",
        "--password \\\n",
        "# password\n\n",
        "the password is\n",
        "password\uff1a值\n",
        "machine h login u password p\n",
    ),
    *(
        "machine ",
        "login ",
        "$ cat ~/.netrc\nmachine\n",
        "echo x | ",
        "<(echo x",
        "echo secret | ",
        "password ((((",
        "a.b.c ",
    ),
    *(
        "token.token.",
        "--token --token ",
        'resource "random_password" "x" {\n',
        "[secret]\n",
        "password = {\n",
        "secret {\n",
    ),
    *(
        "/proj-shared/a/",
        "/users/",
        "\\\\host\\share\\",
        "C:\\Users\\a\\",
        "...home/",
        "git@github.com:",
        "ssh a@b ",
        "node=",
    ),
    *("from 10.0.0.1 ", "owner: a\n", "mount a:/b on /c type nfs\n", "a.b.c.d.example.co.uk ", "a(at)b(dot)de ", "%40"),
    *(
        "arn:aws:iam::123456789012:",
        'Authorization: Digest a="b", ',
        "bearer ",
        "$ vault kv get x\nKey Value\n--- -----\n",
    ),
    *(
        "$ pass show x\n",
        "===== password =====\n",
        "Key Value\n",
        "[a] [b] ",
        "password=)))]]}}",
        "use this token:\n\n",
    ),
    *(
        "`password` ",
        "<password>",
        "password",
        "routing_key=",
        '{"Key":"a","Value":"',
        "\u200b",
        "\x1b[31m",
        "x ^\npassword ^\n",
    ),
    *(
        "--a b \\\n",
        "user: u\npassword: p\n",
        "expect password\nsend x\n",
        "-H 'X: ",
        '["--token", ',
        "export A=B; ",
        "a@b.c.d ",
    ),
    *(
        "srun -w a[1-9] ",
        "GUID 0x1234:5678:9abc:def0 ",
        "11:22:33:44:55:66 ",
        'user = u\npass = "x"\n',
        "x-1<12345> ",
        "[a-1:123] ",
    ),
]


# What was masked in two steps once: a replaced value changes what the words beside it tell.
_TOLD_LATER = (
    'sqlcmd -S h -U sa -P{}=db.createUser({user:"bea",pwd:"{}"})',
    '  Authorization: \\\ndb.createUser({user:"bea",pwd:"{}"})',
    "laravel_session={}: WEBHOOK_SECRET={}",
    "JWT_SECRET={}: db.corp:5432:*:bea:{}",
    "string(credentialsId: 'x', variable: 'PW'), password: '{}'=git config user.name {}",
    "ssl.key.password={}=tctl tokens add: {}",
    'The generated password for the elastic built-in superuser is : {} \'{"Password": "{}"}\'',
    "credentials=/etc/x # password={}: ::set-output name=password::{}",
    "user=amberlanternamberlanternamberlanternamberlantern",
)


def _mixture(chosen: random.Random) -> str:
    kind = chosen.random()
    if kind < 0.4:
        return "".join(chosen.choice(_WORDS) for _ in range(chosen.randrange(1, 60)))
    signs = list("\n".join(chosen.choice(_FORMS) for _ in range(chosen.randrange(1, 8))))
    for _ in range(chosen.randrange(6) if kind < 0.8 else 0):
        at = chosen.randrange(len(signs))
        signs[at : at + chosen.randrange(2)] = chosen.choice([chosen.choice(_SIGNS), chosen.choice(_WORDS), ""])
    return "".join(signs)


def test_masking_a_mixture_again_changes_nothing_and_lines_stay_lines() -> None:
    chosen = random.Random(_SEED)
    wrong = []
    told_later = [form.replace("{}", value) for form in _TOLD_LATER for value in (written.CHOSEN, written.RANDOM)]
    for text in (*told_later, *(_mixture(chosen) for _ in range(_MIXTURES))):
        masked = Masker().mask_text(text)
        if Masker().mask_text(masked) != masked or masked.count("\n") != text.count("\n"):
            wrong.append(text)
    assert wrong == []


def _calls(text: str) -> int:
    """How many functions are called to mask a text, those of the interpreter too."""
    count = 0

    def seen(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    masker = Masker()
    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        masker.mask_text(text)
    finally:
        sys.setprofile(before)
    return count


def test_eight_times_the_text_is_at_most_ten_times_the_work() -> None:
    """Calls are counted, not time; that single expressions are linear is proven in tests/patterns."""
    grown = {}
    for piece in _HOSTILE:
        _calls(piece * (200 // len(piece) + 1))  # compiles what it needs
        few, many = (_calls(piece * (size // len(piece) + 1)) for size in (800, 6_400))
        if many > 10 * max(few, 300):
            grown[piece] = (few, many)
    assert grown == {}
