"""Planted secrets never survive, wherever they stand. Samples are assembled from parts."""

from __future__ import annotations

import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.host.masking.masker import Masker
from rocdoctor.host.masking.rules import load_tables
from tests.examples import examples, rows

DIGITS = "0123456789"
MIXED = "aB3dE5gH7jK9mN1pQ2sT4vW6xY8z"
HEX = "0a1b2c3d4e5f6789"

# What is caught by its format alone, in any place.
BY_FORMAT = {
    "aws-access-key": "AK" + "IA" + "QWERTYUIOP234567",
    "gcp-api-key": "AI" + "za" + MIXED + "1234567",
    "gcp-oauth": "ya" + "29." + MIXED,
    "github-token": "gh" + "p_" + MIXED + "12345678",
    "github-token-fine": "github" + "_pat_" + MIXED + "_" + MIXED,
    "gitlab-token": "gl" + "pat-" + MIXED[:20],
    "bitbucket-token": "AT" + "BB" + MIXED,
    "huggingface-token": "h" + "f_" + MIXED + "abcdef",
    "llm-key": "s" + "k-" + MIXED + MIXED,
    "llm-key-ant": "s" + "k-ant-api03-" + MIXED,
    "slack-token": "xo" + "xb-1234567890-" + MIXED,
    "telegram-token": "123456789" + ":AA" + MIXED + "abcde",
    "npm-token": "np" + "m_" + MIXED + "12345678",
    "pypi-token": "py" + "pi-AgEIcHlwaS5vcmc" + MIXED,
    "docker-token": "dckr" + "_pat_" + MIXED,
    "stripe-key": "sk" + "_live_" + MIXED,
    "sendgrid-key": "S" + "G." + MIXED[:22] + "." + MIXED + MIXED[:15],
    "twilio-key": "S" + "K" + HEX + HEX,
    "jwt": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0In0." + MIXED,
    "cloud-token": "hv" + "s." + MIXED,
}
PLACES = (
    "{}",
    "see {} here",
    "'{}'",
    '"{}"',
    '{{"x": "{}"}}',
    "x: {}",
    "X={}",
    "https://h/p?x={}",
    "({})",
    "a,{},b",
    "\n{}\n",
    "export X='{}'; run",
    "[{}]",
    "<v>{}</v>",
    '\\"{}\\"',
    "http://u:{}@h/",
)

# What is caught by the name, header or argument beside it.
BY_PLACE = (
    "password={}",
    "PASSWORD: {}",
    '"password": "{}"',
    "{{'db_password': '{}'}}",
    "password = {}",
    "--password {}",
    "--token={}",
    "--token {}",
    "['--api-key', '{}']",
    "export HF_TOKEN={}",
    "WANDB_API_KEY={}",
    "COMET_API_KEY: '{}'",
    "NEPTUNE_API_TOKEN={}",
    "MLFLOW_TRACKING_PASSWORD={}",
    "aws_secret_access_key = {}",
    "aws_session_token={}",
    "AccountKey={};EndpointSuffix=x",
    "Server=a;Pwd={};",
    "https://h/c?sv=1&sig={}&x=1",
    "http://user:{}@h:80/x",
    "https://{}@h/x.git",
    "postgres://u:{}@db/x",
    "Authorization: Bearer {}",
    "-H 'Authorization: Basic {}'",
    '"Authorization": "Bearer {}"',
    "Cookie: sid={}",
    "Set-Cookie: sid={}; Path=/",
    "machine h login u password {}",
    "client-key-data: {}",
    '"auth": "{}"',
    "//registry.npmjs.org/:_authToken={}",
    "<password>{}</password>",
    "docker login -u me -p {} r.io",
    "sshpass -p {} ssh h",
    "curl -u me:{} http://h",
    "x-api-key: {}",
    '\\"token\\": \\"{}\\"',
    "https://hooks.slack.com/services/{}",
    "https://discord.com/api/webhooks/{}",
    "the password is {}",
    "DB_PASS={}",
)


@rows(("secret", "place"), product(BY_FORMAT.values(), PLACES))
def test_known_formats_never_survive(secret: str, place: str) -> None:
    text = place.format(secret)
    masked = Masker().mask_text(text)
    assert secret[-16:] not in masked and secret not in masked
    assert Masker().mask_text(masked) == masked


@rows(("place", "around"), product(BY_PLACE, ["{}", "x\n{}\ny", "  {}"]))
def test_the_place_tells_a_secret(place: str, around: str) -> None:
    value = "Zq7" + "mK2vTx9Lw" + "4bN8"
    masked = Masker().mask_text(around.format(place.format(value)))
    assert value not in masked
    assert Masker().mask_text(masked) == masked


@examples(3)
@given(st.sampled_from(list(BY_FORMAT.values())), st.text("ab =:\n\"'{}[](),;&<>/ ", max_size=12), st.text(max_size=12))
def test_a_planted_token_never_survives(secret: str, before: str, after: str) -> None:
    # Whatever stands before it, as long as the token is a word of its own there.
    head = before if not before or not before[-1].isalnum() else before + " "
    assert secret not in Masker().mask_text(head + secret + " " + after)


def key_block(kind: str) -> tuple[str, str, str]:
    body = "\n".join(("MII" + MIXED + MIXED)[:48] for _ in range(6)) + "\n" + MIXED[:21] + "=="
    return f"-----BEGIN {kind}PRIVATE" + " KEY-----", body, f"-----END {kind}PRIVATE" + " KEY-----"


@pytest.mark.parametrize("kind", ["", "RSA ", "OPENSSH ", "EC ", "ENCRYPTED "])
def test_private_key_blocks_also_truncated(kind: str) -> None:
    begin, body, end = key_block(kind)
    for text in (f"{begin}\n{body}\n{end}", f"{begin}\n{body}", f"{body}\n{end}", f"{begin}\n{body[:100]}"):
        masked = Masker().mask_text(f"before it\n{text}\nafter it, more.")
        assert "MII" not in masked and MIXED[:12] not in masked
        assert masked.startswith("before it\n") and masked.endswith("after it, more.")
        assert Masker().mask_text(masked) == masked
    escaped = '{"private_key": "' + f"{begin}\n{body}\n{end}\n".replace("\n", "\\n") + '", "x": 1}'
    masked = Masker().mask_text(escaped)
    assert "MII" not in masked and masked.endswith('"x": 1}')


def test_a_public_key_and_its_comment() -> None:
    text = "ssh-ed" + "25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + MIXED + " carol@box"
    assert Masker().mask_text(text) == "ssh-ed25519 masked-ssh-public-key"


def test_words_that_only_look_like_secret_names() -> None:
    text = (
        "tokenizer=abc123def author: someone123 max_tokens=100000 token_type_ids: a1b2c3d4 monkey: b4n4n4\n"
        "password=$DB_PASSWORD token=${TOKEN} secret: null api_key: <your key> PASSWORD=***\n"
        "NCCL_IB_PKEY=0x8001 keyboard: pc105x1 authentication_path=/etc/x1y2z3"
    )
    assert Masker().mask_text(text) == text


def test_every_rule_has_an_id_and_a_literal_in_lower_case() -> None:
    rules = load_tables().secrets
    assert len(rules) > 30
    for rule in rules:
        assert rule.id
        assert all(word == word.lower() and len(word) > 1 for word in rule.literals)
        assert not rule.pattern.match(""), rule.id


def test_each_list_of_a_line_is_looked_through_and_each_end_of_a_chain() -> None:
    value = "Zq7" + "mK2vTx9Lw" + "4bN8"
    for text in (
        f'{{"tokens": ["a"], "api_keys": ["{value}"], "secrets": {{"passwords": ["{value}"]}}}}',
        '{"tokens": [], "passwords": ["hunter", "other"]}',
        "key=b=c=d=e=f=g=h=i=j=password=" + value,
        "key=b=c=d=e=f=g=h=i=j=password=hunter",
    ):
        masked = Masker().mask_text(text)
        assert value not in masked
        assert "hunter" not in masked


@pytest.mark.parametrize(
    "piece",
    [
        "key=",
        "token: ",
        "token: \n",
        '"--db-password",\n',
        "PASSWORD  x\n",
        "://a:",
        "tokens: [",
        "password='",
        "name: x_token\n",
        "a@b.",
        "Aa0/",
    ],
)
def test_hostile_text_costs_linear_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        began = time.process_time()
        Masker().mask_text(text)
        return time.process_time() - began

    # Sixteen times as much takes sixteen times as long; quadratic time would be 256 times.
    least = max(min(seconds(10_000) for _ in range(3)), 0.002)
    assert any(seconds(160_000) < 64 * least for _ in range(3))


@pytest.mark.parametrize("word", ["Connected.", "Continue", "Connection"])
def test_a_word_as_sentences_begin_with_is_masked_in_its_place_alone(word: str) -> None:
    """What stands below a prompt may be what the program says next: all evidence would lose the word."""
    masker = Masker()
    assert word not in masker.mask_text(f"$ sudo ls\nPassword:\n{word}\n\n")
    later = f"rank 3: {word} refused\n"
    assert masker.mask_text(later) == later
    secret = "Gandalf" + "grau7"
    masker.mask_text(f"Password:\n{secret}\n\n")
    assert secret not in masker.mask_text(f"rank 3: {secret}\n"), "what is no such word is found again"
