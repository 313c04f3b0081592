"""Lines that differ in their digits alone are masked by one of them; what they become is the same, at less cost."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from rocdoctor.host.masking import alike, any_digits
from rocdoctor.host.masking import masker as masking
from rocdoctor.host.masking.alike import KnownShapes, QuietTexts
from rocdoctor.host.masking.masker import Masker
from rocdoctor.host.masking.rules import example, load_tables
from tests.host.masking import written

# Pseudonyms follow the order in which names are met.
_NUMBER = re.compile(r"\b(user|host|domain|email|ip|serial|uuid|ssid|wwn|masked)-[\w.-]+|[0-9a-f]{8}-5eed[0-9a-f-]+")
# An id that is pure digits, a code, a token whose format holds a digit: what the digits are decides.
_DIGITS_DECIDE = (
    ("webhook: https://h/hooks/x0000000", "webhook: https://h/hooks/x7391846"),
    ("serial: 000000000000", "serial: 692244001122"),
    ("peer 0.0.0.0 up", "peer 10.23.4.5 up"),
    ("addr 00:00:00:00:00:00", "addr 3c:12:34:56:78:90"),
    ("krb0_realm = KOWALSCY.PL", "krb5_realm = KOWALSCY.PL"),
    (
        "refresh 0//0gAbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGhIj-KlMnOp",
        "refresh 1//0gAbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGhIj-KlMnOp",
    ),
)


def _digits(text: str, chosen: random.Random) -> str:
    return "".join(str(chosen.randrange(10)) if "0" <= one <= "9" else one for one in text)


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Masks a text whose lines are all looked at."""

    def mask(text: str) -> str:
        with monkeypatch.context() as patch:
            patch.setattr(masking, "_MANY_LINES", 10**9)
            return Masker().mask_text(text)

    return mask


@pytest.mark.parametrize(("dull", "telling"), _DIGITS_DECIDE)
def test_a_line_whose_digits_tell_is_not_judged_by_another(
    dull: str, telling: str, one_by_one: Callable[[str], str]
) -> None:
    text = "\n".join(
        [dull] * 5 + [f"{dull} {number}" for number in range(400)] + [f"{telling} {n}" for n in range(400)]
    )
    assert telling not in one_by_one(text)
    assert telling not in Masker().mask_text(text)


def test_controls_with_any_digits_become_what_they_become_alone(one_by_one: Callable[[str], str]) -> None:
    chosen = random.Random(7)
    forms = chosen.sample(written.sections("controls")["lines"], 250)
    lines = [_digits(form, chosen) for form in forms for _ in range(6)]
    chosen.shuffle(lines)
    text = "\n".join(lines)
    both = (Masker().mask_text(text).split("\n"), one_by_one(text).split("\n"))
    assert [pair for pair in zip(*both, strict=True) if _NUMBER.sub("", pair[0]) != _NUMBER.sub("", pair[1])] == []


def test_few_of_the_lines_of_a_log_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    plain = Masker.masked_lines

    def counted(self: Masker, fresh: list[str], light: frozenset[int] = frozenset()) -> list[str]:
        nonlocal asked
        asked += len(fresh) - len(light)
        return plain(self, fresh, light)

    monkeypatch.setattr(Masker, "masked_lines", counted)
    log = [
        f"[{n:5}.123456] amdgpu 0000:{n % 90:02}:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq={n}"
        for n in range(3000)
    ]
    told = [f"Nov 24 10:11:12 lynx-cn042 kernel: pcieport 0000:00:01.{n % 8}: AER: Corrected {n}" for n in range(3000)]
    masked = Masker().mask_text("\n".join([*log, *told]))
    assert "lynx" not in masked
    assert masked.split("\n")[:3000] == log
    assert asked < 300


def test_a_line_is_masked_in_a_text_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_MOST_LINES", 50)
    monkeypatch.setattr(masking, "_SLAB", 30)
    words = ["".join(chr(97 + (n // 26**k) % 26) for k in range(3)) for n in range(900)]
    text = "\n".join(["ssh tkowalsk@gw7.uni-x.de", *(f"{word} is up" for word in words), "and tkowalsk again"])
    lines = Masker().mask_text(text).split("\n")
    assert (lines[0], lines[-1]) == ("ssh email-1", "and tkowalsk again") or "tkowalsk" not in lines[0] + lines[-1]
    assert lines[1] == "aaa is up"
    assert [line for line in lines[1:-1] if not line.endswith(" is up")] == []


def test_what_is_known_of_shapes_is_bounded() -> None:
    known = KnownShapes(lambda lines: [True] * len(lines))
    lines = [f"word{'x' * (n // 9)} {n}" for n in range(90)]
    assert known.judge(lines, [True] * len(lines)) == [True] * len(lines)
    assert known.parted(lines) == ([], {})


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines each step of masking was asked to look at, with all of its rules."""
    asked: list[int] = []
    plain = Masker.masked_lines

    def counted(self: Masker, fresh: list[str], light: frozenset[int] = frozenset()) -> list[str]:
        asked.append(len(fresh) - len(light))
        return plain(self, fresh, light)

    monkeypatch.setattr(Masker, "masked_lines", counted)
    return asked


def test_answers_that_differ_in_digits_alone_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _counted(monkeypatch)
    masker = Masker()
    forms = (
        "read /sys/bus/pci/devices/0000:%x%x:00.0/uevent",
        "PCI_SLOT_NAME=0000:%x%x:00.0",
        "Node %d MemTotal: %d kB",
    )
    answers = [form % (one % 16, one % 8) for one in range(60) for form in forms]
    assert [masker.mask_text(one) for one in answers] == answers
    assert len(asked) <= 8


@pytest.mark.parametrize(("dull", "telling"), _DIGITS_DECIDE)
def test_an_answer_whose_digits_tell_is_not_judged_by_another(dull: str, telling: str) -> None:
    masker = Masker()
    for one in (dull, dull.replace("0", "1"), dull.replace("0", "2")):
        masker.mask_text(one)
    assert telling not in masker.mask_text(telling)


def test_a_name_that_is_learned_later_is_masked_in_answers_that_nothing_changed_before() -> None:
    masker = Masker()
    answers = [f"Task {number} of Kowalsk ran" for number in range(9)]
    assert [masker.mask_text(one) for one in answers] == answers
    masker.learn(user="kowalsk")
    assert masker.mask_text("Task 10 of Kowalsk ran") == "Task 10 of user-1 ran"


def test_what_is_known_of_answers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "_MOST", 3)
    quiet = QuietTexts(lambda texts: [True] * len(texts))
    for number in range(12):
        quiet.stayed("Word" + "x" * number)
        assert quiet.holds("Word" + "x" * number)
    quiet.stayed("Word 1.2.3.4")
    assert not quiet.holds("Word 1.2.3.4")
    quiet.stayed("Long " * QuietTexts.LONGEST)
    assert not quiet.holds("Long " * QuietTexts.LONGEST)


def test_no_form_is_hidden_by_an_answer_with_other_digits() -> None:
    hidden = [*written.secrets().values(), *written.identities().values()]
    told = []
    for text, secret in [row for rows in hidden for row in rows if re.search(r"\d", row[0].replace(row[1], ""))][::3]:
        masker = Masker()
        for digit in "012":
            masker.mask_text(re.sub(r"\d", digit, text))
        if secret in masker.mask_text(text) and secret not in Masker().mask_text(text):
            told.append(text)
    assert told == []


@pytest.mark.parametrize(
    ("expression", "wide"),
    [
        (r"v1\.\d{1,2}[ab](?=x)", r"v[0-9]\.\d{1,2}[ab](?=x)"),
        (r"(?:SK|AC)[0-9a-f]{32}", r"(?:SK|AC)[0-9a-f]{32}"),
        (r"[12346]\d{4}|[A-Z2-7_-]\x1b[^1]", r"[0-9]\d{4}|[0-9A-Z_-]\x1b[^1]"),
    ],
)
def test_an_expression_takes_any_digit_where_it_has_one(expression: str, wide: str) -> None:
    assert any_digits.any_digit(expression) == wide


def test_all_rules_compile_with_any_digit_and_fit_what_they_fitted() -> None:
    tables = load_tables()
    for rule in tables.secrets:
        wide = re.compile(any_digits.any_digit(rule.expression))
        for text in (example(one)[0] for one in rule.examples):
            assert rule.pattern.search(text) is None or wide.search(text), rule.expression
    for place in tables.places:
        re.compile(any_digits.any_digit(f"(?m:{place.expression})"))


@pytest.mark.parametrize("text", ["-1", "0 0 12 345", "7\n8\n-9\n", "1234567890123456789"])
def test_numbers_alone_need_no_rule(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _counted(monkeypatch)
    assert Masker().mask_text(text) == text
    assert asked == []


def test_numbers_that_may_be_letters_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _counted(monkeypatch)
    coded = b"password=Marzip4nLux9".hex()
    for text in (coded, " ".join(coded[at : at + 2] for at in range(0, len(coded), 2))):
        assert Masker().mask_text(text) == "masked-coded-secret"
    Masker().mask_text("31 32 33 34 35 36 37 38 39 30 31 32 33 34")
    Masker().mask_text("1" * 20)
    assert len(asked) >= 4


def test_a_number_that_turns_out_to_be_an_id_is_replaced_in_answers_of_numbers_too() -> None:
    masker = Masker()
    masker.mask_text("unique_id 8779434634021347914")
    assert "8779434634021347914" not in masker.mask_text("0 8779434634021347914\n1 5")


def _heard(text: str) -> tuple[list[str], list[str]]:
    """The names and values that a masker learns from a text."""
    masker = Masker()
    masker.hear(text)
    return sorted(masker._names.known()), sorted(masker._values.known())


def _learned_of_all(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """The same from a text whose lines are all masked."""
    with monkeypatch.context() as patch:
        patch.setattr(masking, "_MANY_LINES", 10**9)
        return _heard(text)


@pytest.mark.parametrize(
    ("telling", "learned"),
    [
        ("jkowal:100000:65536", ["jkowal"]),
        ("[{n}] ssh -l bwolkow gw7.uni-x.de", ["uni-x.de"]),
        ("lynx-cn0{n}:12345:12345 [0] NCCL INFO Bootstrap : Using eth0:10.1.2.3<0>", ["lynx-cn040"]),
        ("peer 10.1.2.3 of lynxhost{n}.hpc.uni-x.de answers", ["lynxhost40"]),
        ("db_password=Xk{n}fGq92LmQa", ["xk40fgq92lmqa"]),
        ("{n}00 pdsh -w lynxcn[100-103]", ["lynxcn100", "lynxcn103"]),
        ("pdsh -w lynxcn[1,2]\nlynxcn1 up\n1 lynxcn2", ["lynxcn1", "lynxcn2"]),
        ("{n}00 GET https://lynx-cn.k3s.io/a", ["k3s.io"]),
        ("{n}000000 https://mlx4_0/a", ["mlx4_0"]),
    ],
)
def test_what_is_heard_is_what_masking_learns(
    telling: str, learned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dull = [f"node{n % 9}:{n:05}:{n:05} [{n % 8}] NCCL INFO Channel 0{n % 8} : 0x{n * 7919:016x}" for n in range(400)]
    chosen, telling = random.Random(3), telling.replace("{n}", "40")
    text = "\n".join([*dull, *(_digits(telling, chosen) for _ in range(12)), telling, *dull])
    heard = _heard(text)
    assert set(learned) <= {*heard[0], *heard[1]}
    assert heard == _learned_of_all(text, monkeypatch)


def test_forms_with_any_digits_teach_what_they_teach_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(11)
    forms = chosen.sample(written.sections("controls")["lines"], 60)
    forms += [example(one)[0] for rule in chosen.sample(load_tables().secrets, 20) for one in rule.examples[:1]]
    lines = [_digits(form, chosen) for form in forms for _ in range(6)]
    chosen.shuffle(lines)
    text = "\n".join(lines)
    assert _heard(text) == _learned_of_all(text, monkeypatch)


def test_the_same_few_of_many_secrets_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = ("serial {n} DB_PASSWORD=Sommer{n}haus{n}xy machine {n}", "DB_PASSWORD={w}Winter7")
    lines = [one.format(n=n, w=chr(65 + n % 26) * 3) for n in range(10, 50) for one in forms]
    text = "\n".join([*lines, *(f"{chr(97 + n % 26)}{chr(97 + n // 26)} is up" for n in range(200))])
    assert _heard(text) == _learned_of_all(text, monkeypatch)


def test_a_name_of_a_user_and_a_host_is_what_comes_first() -> None:
    forms = ("10.1.2.{n} USER=bwolk{n} uuid", "NodeList=bwolk{n} {w}")
    lines = [one.format(n=n, w=chr(87 + n)) for n in range(10, 30) for one in forms]
    text = "\n".join([*lines, *(f"{chr(97 + n % 26)}{chr(97 + n // 26)} is up" for n in range(200))])
    masker = Masker()
    masker.hear(text)
    assert masker.mask_text("bwolk29 is up") == "user-1 is up"


def test_digits_tell_also_where_what_was_known_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "_MOST", 3)
    known = KnownShapes(lambda lines: [True] * len(lines), hears=True)
    lines = [f"jkowal:{n}:{n}" for n in range(10000, 10009)]
    assert known.parted(lines) == ([0], {0: [1, 2, 3, 4, 5, 6, 7, 8]})
    shapes = ["a", "b", "c", lines[0]]
    assert known.judge(shapes, [True] * 4) == [True] * 4
    assert known.parted([*lines, "jkowal:65536:65536"])[0] == [9]


def _number(random_: random.Random) -> str:
    whole = str(random_.randrange(10 ** random_.randint(1, 9)))
    return random_.choice((whole, f"{random_.random() * 100:.{random_.randint(1, 12)}f}", f"{random_.random():.3e}"))


def test_numbers_of_any_length_hide_nothing_that_is_told_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(5)
    hidden = [*written.secrets().values(), *written.identities().values()]
    forms = [form for form, _ in chosen.sample([row for rows in hidden for row in rows], 80) if "\n" not in form]
    forms += ["[{n}] login of {n} by jkowal:100000:65536", "loss {n} pin: {n} token={n} db_password=Xk4fGq92LmQa"]
    lines = []
    for form in forms:
        for _ in range(8):
            alone = re.sub(r"(?<![\w.:/@-])\d{1,9}(?![\w.:/@-])", lambda _: _number(chosen), form)
            lines.append(f"[{_number(chosen)}] loss={_number(chosen)} {alone.replace('{n}', _number(chosen))}")
    chosen.shuffle(lines)
    text = "\n".join(lines)
    assert _heard(text) == _learned_of_all(text, monkeypatch)


def test_a_number_whose_length_tells_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is logged in, where the number before has three digits at least: by ``loginctl``."""
    lines = [f"     {n % 7} {'9' * (1 + n % 5)} jkowal  seat0" for n in range(40)]
    text = "\n".join([*lines[::5], *lines, *(f"step {n} of {n}.5" for n in range(300))])
    assert _heard(text)[0] == ["jkowal"]
    assert _heard(text) == _learned_of_all(text, monkeypatch)


def test_a_run_that_may_be_a_code_speaks_for_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = ("/opt/Torch2/lib/python3/site-packages", "/opt/Torch3/lib/python3/site-packages")
    lines = [f"step {n} in {runs[n % 2]} took {n / 7}" for n in range(400)]
    known = KnownShapes(lambda lines: [True] * len(lines), hears=True)
    assert known.parted(lines)[0] == [0, 1]
    asked = _counted(monkeypatch)
    Masker().hear("\n".join(lines))
    assert sum(asked) < 20


def test_progress_bars_and_losses_are_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _counted(monkeypatch)
    chosen = random.Random(3)
    log = []
    for n in range(3000):
        bar = "\u2588" * (n % 20) + " " * (20 - n % 20)
        log.append(
            f"Epoch {n}: {n % 100}%|{bar}| {n}/9000 [0{n % 9}:12<12:30, {_number(chosen)}it/s, loss={n / 7:.{n % 9}f}]"
        )
        log.append(f"[{n * 1.7:12.6f}] amdgpu 0000:{n % 256:02x}:00.0: ring {n} seq={n} at 0x{n * 7919:x}")
    Masker().hear("\n".join(log))
    assert sum(asked) < 500


def test_few_lines_of_a_log_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _counted(monkeypatch)
    log = [f"node{n % 9}:{n:05}:{n:05} [{n % 8}] NCCL INFO NET/IB 10.0.0.{n % 200}<{n}>" for n in range(3000)]
    Masker().hear("\n".join(log))
    assert sum(asked) < 300
