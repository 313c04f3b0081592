"""Secrets sown all over a machine: none is left in a recording of it, in no code, and the verdicts stay the same.

Samples are assembled from parts, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import hashlib
import re
from itertools import product
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.collect import collect
from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import Capture, CaptureHost, parse, write
from rocdoctor.host.masking.masker import Masker
from rocdoctor.host.recorder import MaskedHost, Recorder, mask_answer, settled
from rocdoctor.judging.diagnose import diagnose
from tests.examples import rows, some
from tests.golden.replay import NAMES, host_of, judged_fixture, our_checks
from tests.kit import ROOT

_SIGNS = "Kq7ZmW2xT9vLb4NcR8pYd3HsJ6gFa1Ue5"


def _hexa(count: int, seed: int) -> str:
    return (hashlib.sha256(b"%d" % seed).hexdigest() * 4)[:count]


def _alnum(count: int, seed: int) -> str:
    """Letters and digits, different for each seed."""
    numbers = hashlib.sha512(b"%d" % seed).digest() * 3
    return "a1B" + "".join(_SIGNS[number % len(_SIGNS)] for number in numbers[: count - 3])


# What is a secret by its form, wherever it stands.
FORMS = (
    "AK" + "IA" + "WXYZ2345QRST67AB",
    "AI" + "za" + _alnum(35, 1),
    "gh" + "p_" + _alnum(36, 2),
    "github" + "_pat_" + _alnum(22, 3) + "_" + _alnum(59, 4),
    "gl" + "pat-" + _alnum(20, 5),
    "AT" + "BB" + _alnum(32, 6),
    "h" + "f_" + "".join(c for c in _alnum(60, 7) if c.isalpha())[:34].ljust(34, "q"),
    "s" + "k-proj-" + _alnum(90, 8),
    "s" + "k-ant-api03-" + _alnum(93, 9),
    "gs" + "k_" + _alnum(52, 10),
    "xo" + "xb-123456789012-" + _alnum(24, 11),
    "np" + "m_" + _alnum(36, 12),
    "py" + "pi-AgEIcHlwaS5vcmc" + _alnum(80, 13),
    "sk" + "_live_" + _alnum(24, 14),
    "S" + "G." + _alnum(22, 15) + "." + _alnum(43, 16),
    "dop" + "_v1_" + _hexa(64, 17),
    "LT" + "AI5t" + _alnum(18, 18),
    "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIi" + _alnum(20, 19) + "." + _alnum(43, 20),
    "hv" + "s." + _alnum(90, 21),
    "dckr" + "_pat_" + _alnum(27, 22),
    "wandb" + "_v1_" + _alnum(60, 23),
    "nv" + "api-" + _alnum(64, 24),
)
# How tools, files and process lists show a secret without any form of its own.
PLACES = (
    "password={}",
    "token: {}",
    '"db_password": "{}"',
    "--api-key {}",
    "--hf_token={}",
    'tokens: ["{}"]',
    "passwords:\n  - {}\n  - other",
    "--token\n{}",
    "api_key:\n  {}",
    "token: |\n  {}",
    "- name: HF_TOKEN\n  value: {}",
    '{{"name": "API_TOKEN", "value": "{}"}}',
    "machine h login u password {}",
    "machine h\n  login u\n  password {}",
    "client-key-data: {}",
    '{{"auths": {{"r.io": {{"auth": "{}"}}}}}}',
    "db.example:5432:app:writer:{}",
    "psk={}",
    'network={{\n  ssid="Roes at home"\n  psk="{}"\n}}',
    "LUKS passphrase: {}",
    "rocommunity {}",
    "snmpget -v2c -c {} h",
    "sshpass -p {} ssh h",
    "Authorization: Basic {}",
    "Cookie: sid={}",
    "postgres://u:{}@db/x",
    "redis://:{}@h:6379/0",
    "Server=a;Password={};Encrypt=yes",
    "AccountKey={};x=y",
    "mysql -u root -p{} db",
    "curl -u me:{} http://h",
    "docker login -u me -p {} r.io",
    "echo {} | sudo -S ls",
    "https://h/c?sv=1&sig={}&x=1",
    "bindpw {}",
    "requirepass {}",
    "//registry.npmjs.org/:_authToken={}",
    "wandb login {}",
    "ENV HF_TOKEN {}",
    "PrivateKey = {}",
    "1234 ? Sl 0:01 python train.py --hub_token {}",
    "spring.datasource.password={}",
    "SSHPASS={}",
    "vault login {}",
    "smbclient //h/s -U u%{}",
    "jdbc:oracle:thin:u/{}@h:1521",
    "openssl enc -k {}",
    "enable secret 5 {}",
)
CODES = (*(f"base64 at offset {offset}" for offset in range(3)), "hexadecimal", "percent", "backslash")
QUESTIONS = ("run dmesg", "run ps aux", "read /proc/cmdline", "run nvidia-smi", "read ~/.config/x", "run pip list")


def coded(secret: str, code: str) -> str:
    """A secret in one of the codes."""
    data = secret.encode()
    if code.startswith("base64"):
        return base64.b64encode(b"x" * int(code[-1]) + data + b" and more text").decode()
    if code == "percent":
        return "".join(f"%{byte:02X}" for byte in data)
    return data.hex() if code == "hexadecimal" else "".join(f"\\x{byte:02x}" for byte in data)


def leaks(text: str, secret: str) -> list[str]:
    """In which form the secret can still be read in a text."""
    forms = {"plain": text, "percent": unquote(text)}
    for at in range(4):
        runs = [run[at:] for run in re.findall(r"[A-Za-z0-9+/_-]{16,}", text)]
        bare = [run.rstrip("=").replace("-", "+").replace("_", "/") for run in runs]
        whole = [run[: len(run) - (len(run) % 4 == 1)] for run in bare]
        forms[f"base64 {at}"] = "\n".join(
            base64.b64decode(run + "=" * (-len(run) % 4)).decode("latin-1") for run in whole
        )
    pairs = re.findall(r"(?:[0-9a-fA-F]{2}){8,}", text.replace("\\x", ""))
    forms["hexadecimal"] = "\n".join(bytes.fromhex(run).decode("latin-1") for run in pairs)
    return [form for form, shown in forms.items() if secret in shown]


def test_the_search_for_leaks_finds_each_code() -> None:
    for code in CODES:
        assert leaks("x " + coded(FORMS[2], code) + " y", FORMS[2]), code
    assert leaks("a " + FORMS[2], FORMS[2]) == ["plain", "percent"]


@pytest.fixture(scope="module")
def sown() -> tuple[list[str], str]:
    """The secrets, and what was recorded of the machine that holds them."""
    secrets: list[str] = []
    base = parse((ROOT / "fixtures/rx7900xtx-2gpu.capture").read_bytes())
    answers = dict(base.answers)
    texts: dict[str, list[str]] = {question: [] for question in QUESTIONS}
    for number, form in enumerate(FORMS):
        secrets.append(form)
        texts[QUESTIONS[number % len(QUESTIONS)]].append(f"[ {number}.0] found {form} in a file")
        texts[QUESTIONS[-1 - number % 3]].append(f"blob {coded(form, CODES[number % len(CODES)])} end")
    for number, place in enumerate(PLACES):
        value = _alnum(17, 40 + number)
        secrets.append(value)
        texts[QUESTIONS[number % len(QUESTIONS)]].append(place.format(value))
    env = [
        f"OPENAI_API_KEY={_alnum(30, 200)}",
        f"DB_PASS={_alnum(14, 201)}",
        f"NCCL_DEBUG=INFO\nMY_NOTE={_alnum(9, 202)}",
    ]
    secrets += [_alnum(30, 200), _alnum(14, 201), _alnum(9, 202)]
    for code in CODES:  # of a value that only its name tells
        texts["run ps aux"].append(f"python x.py {coded(_alnum(30, 200), code)}")
    for question, lines in texts.items():
        before = answers.get(question)
        old = before.text if before is not None and before.ok else ""
        answers[question] = Answer(question, "ok", "\n".join([old, *lines]).encode(), 0)
    answers["env"] = Answer("env", "ok", "\n".join([answers["env"].text, *env]).encode())
    recorder = Recorder(MaskedHost(CaptureHost(Capture(base.headers, "", answers), "x"), Masker()))
    diagnose(collect(recorder), our_checks())
    for question in ("env", *QUESTIONS):
        recorder.ask(question)
    return secrets, write(settled(recorder), {"origin": "recorded"})


def test_there_are_enough_kinds_and_places(sown: tuple[list[str], str]) -> None:
    assert len(set(sown[0])) == len(FORMS) + len(PLACES) + 3 >= 70


def test_nothing_of_a_secret_is_left_in_any_code(sown: tuple[list[str], str]) -> None:
    secrets, recording = sown
    found = {secret: how for secret in secrets if (how := leaks(recording, secret))}
    assert not found


@rows(("form", "code"), product(FORMS, CODES))
def test_a_form_in_code_is_found_anywhere(form: str, code: str) -> None:
    text = f"a line\ndata={coded(form, code)}\nanother"
    masked = Masker().mask_text(text)
    assert not leaks(masked, form)
    assert masked.startswith("a line\ndata")
    assert masked.endswith("\nanother")
    assert Masker().mask_text(masked) == masked


def test_a_value_that_was_named_once_is_found_in_every_code_and_order() -> None:
    value = _alnum(18, 77)
    masker = Masker()
    late = Answer("run ps aux", "ok", "\n".join(f"x {coded(value, code)} y" for code in CODES).encode())
    host = MaskedHost(CaptureHost(Capture({}, "", {late.question: late}), "x"), masker)
    recorder = Recorder(host)
    recorder.ask("run ps aux")
    masker.mask_env({"MISTRAL_API_KEY": value})
    assert not leaks("\n".join(answer.text for answer in settled(recorder)), value)


def test_names_that_are_learned_late_are_masked_in_earlier_answers() -> None:
    answers = {
        "run uptime": Answer("run uptime", "ok", b"seen on storage-7 by dora"),
        "run dmesg": Answer("run dmesg", "ok", b"Nov 21 08:20:28 storage-7 kernel: up"),
        "read /etc/group": Answer("read /etc/group", "ok", b"render:x:109:dora"),
    }
    recorder = Recorder(MaskedHost(CaptureHost(Capture({}, "", answers), "x"), Masker()))
    for question in answers:
        recorder.ask(question)
    text = "\n".join(answer.text for answer in settled(recorder))
    assert "storage-7" not in text
    assert "dora" not in text


def test_wrapped_base64_is_read_as_one() -> None:
    text = base64.encodebytes(("x" * 69 + " " + FORMS[3] + " " + "y" * 40).encode()).decode()
    masked = Masker().mask_text("before\n" + text + "(after)\n")
    assert masked == "before\n" + "masked-coded-secret\n" * text.count("\n") + "(after)\n"


@pytest.mark.parametrize("name", some(NAMES))
def test_masking_changes_no_verdict_and_nothing_twice(name: str) -> None:
    masker = Masker()
    masker.learn(hostname="node-17.cluster.example", user="somebody", home="/home/somebody")
    recorder = Recorder(MaskedHost(host_of(name), masker))
    verdicts = [
        [(one.check, one.subject, one.state) for one in found.verdicts]
        for found in (judged_fixture(name), diagnose(collect(recorder), our_checks()))
    ]
    assert verdicts[0] == verdicts[1]
    fresh = Masker()
    for answer in recorder.answers.values():
        assert mask_answer(answer, fresh) == answer


_PIECES = st.sampled_from(
    [
        "key=",
        "password=",
        "token: ",
        "tokens: [",
        '["',
        '"]',
        "{",
        "}",
        "\n",
        "\n  - ",
        " | ",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "://a:",
        "@",
        "%41",
        "\\x41",
        "a1B2c3D4e5F6g7H8",
        quote("p w"),
        "Authorization: ",
        "name: X_TOKEN",
        "value: ",
        "ssid=",
        "curl -u a:",
        "UUID=",
        "host-1",
        "masked-value",
        "$6$",
        "eyJ",
        ".",
        "::",
    ]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=20)), max_size=12), st.text(max_size=30))
def test_no_text_raises_and_lines_stay_lines(parts: list[str], question: str) -> None:
    text = "".join(parts)
    masked = Masker().mask_text(text, question)
    assert Masker().mask_text(masked) == masked or "PRIVATE" in text
    if "PRIVATE" not in text:
        assert masked.count("\n") == text.count("\n")
