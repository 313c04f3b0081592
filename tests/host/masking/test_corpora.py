"""Masking over the three lists of lines: secrets and identities are gone, everything else stays byte for byte."""

from __future__ import annotations

import base64
import gzip

import pytest

from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import Capture, CaptureHost
from rocdoctor.host.masking import masker as masking
from rocdoctor.host.masking.masker import Masker
from rocdoctor.host.recorder import MaskedHost, Recorder, settled
from rocdoctor.knowledge.load import load_table
from rocdoctor.report.masked import Discretion
from tests.host.masking import (
    account_lines,
    beside_controls,
    beside_lines,
    control_lines,
    declared_lines,
    further_lines,
    identity_lines,
    image_lines,
    people_lines,
    personal_lines,
    posted_lines,
    prompted_lines,
    recount_lines,
    secret_lines,
    seen_lines,
    site_lines,
    system_controls,
    telling_words,
    tracker_lines,
)

# Per list of lines (those that belong together are a block): what each hides.
HIDDEN = {
    "secrets": secret_lines.LINES,
    "declared": declared_lines.LINES,
    "identities": identity_lines.LINES,
    "images": image_lines.LINES,
    "people": people_lines.LINES,
    "personal": personal_lines.LINES,
    "accounts": account_lines.LINES,
    "beside": beside_lines.LINES,
    "further": further_lines.LINES,
    "sites": site_lines.LINES,
    "recount": recount_lines.LINES,
    "trackers": tracker_lines.LINES,
    "posted": posted_lines.LINES,
    "seen": seen_lines.LINES,
}
BLOCKS = {
    "blocks of secrets": secret_lines.BLOCKS,
    "blocks of images": image_lines.BLOCKS,
    "declared blocks": declared_lines.BLOCKS,
    "blocks of identities": identity_lines.BLOCKS,
    "blocks beside": beside_lines.BLOCKS,
    "further blocks": further_lines.BLOCKS,
    "prompted blocks": prompted_lines.BLOCKS,
    "recounted blocks": recount_lines.BLOCKS,
    "seen blocks": seen_lines.BLOCKS,
}
# And what hides nothing.
CONTROLS = {
    "controls": control_lines.LINES,
    "images": image_lines.CONTROLS,
    "personal": personal_lines.CONTROLS,
    "words": telling_words.LINES,
    "beside": beside_controls.LINES,
    "system": system_controls.LINES,
    "recount": recount_lines.CONTROLS,
    "trackers": tracker_lines.CONTROLS,
    "posted": posted_lines.CONTROLS,
    "seen": seen_lines.CONTROLS,
}
CONTROL_BLOCKS = {
    "blocks": control_lines.BLOCKS,
    "blocks of images": image_lines.CONTROL_BLOCKS,
    "blocks of words": telling_words.BLOCKS,
    "blocks beside": beside_controls.BLOCKS,
    "blocks of the system": system_controls.BLOCKS,
    "prompted blocks": prompted_lines.CONTROLS,
    "recounted blocks": recount_lines.CONTROL_BLOCKS,
    "seen blocks": seen_lines.CONTROL_BLOCKS,
}
ALL_HIDDEN = [one for lines in HIDDEN.values() for one in lines]
ALL_CONTROLS = [line for lines in CONTROLS.values() for line in lines]
# A test for each list, which names the lines that failed: there are thousands of them.
_EACH_HIDDEN = pytest.mark.parametrize("name", [*HIDDEN, *BLOCKS])


def test_the_lists_are_long_enough_and_have_no_line_twice() -> None:
    for lines in (ALL_HIDDEN, ALL_CONTROLS):
        assert len(set(lines)) == len(lines) >= 200


def _told(masked: str, line: str, hidden: str) -> bool:
    return hidden in masked or hidden[-16:] in masked or masked.count("\n") != line.count("\n")


@_EACH_HIDDEN
def test_what_must_not_be_told_is_gone_and_masking_again_changes_nothing(name: str) -> None:
    rows = (HIDDEN | BLOCKS)[name]
    masked = [(Masker().mask_text(line), line, hidden) for line, hidden in rows]
    assert [row for row in masked if _told(*row)] == []
    assert [row for row in masked if Masker().mask_text(row[0]) != row[0]] == []


@pytest.mark.parametrize("name", [*CONTROLS, *CONTROL_BLOCKS])
def test_what_tells_nothing_stays(name: str) -> None:
    assert [line for line in (CONTROLS | CONTROL_BLOCKS)[name] if Masker().mask_text(line) != line] == []


def test_controls_stay_among_secrets_and_with_people_who_are_called_like_a_word() -> None:
    masker = Masker()
    masker.learn(hostname="alice-box.lab.example.edu", user="adam", home="/home/adam")
    text = "\n".join(line for pair in zip(ALL_CONTROLS, [one for one, _ in ALL_HIDDEN], strict=False) for line in pair)
    kept = set(masker.mask_text(text).split("\n"))
    assert [one for one in ALL_CONTROLS if one not in kept] == []


@_EACH_HIDDEN
def test_a_report_that_quotes_it_does_not_tell_it_either(name: str) -> None:
    rows = (HIDDEN | BLOCKS)[name]
    assert [line for line, hidden in rows if hidden in Discretion()(line)] == []
    around = [(Discretion().texts(["GPU 0 is on PCIe x8", line]), hidden) for line, hidden in rows]
    assert [(texts, hidden) for texts, hidden in around if hidden in "\n".join(texts)] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('Config(api_key=SecretStr("{}"), x=1)', 'Config(api_key=SecretStr("masked-value"), x=1)'),
        ("password: !!str &x '{}'", "password: !!str &x 'masked-value'"),
        ('("HF_TOKEN", "{}", "gfx942")', '("HF_TOKEN", "masked-value", "gfx942")'),
        ("| bea | HF_TOKEN | {} | gfx942 |", "| bea | HF_TOKEN | masked-value | gfx942 |"),
        ('DB_PASSWORD=x"{}" next', "DB_PASSWORD=masked-value next"),
        ("user,password,host\nbea,{},db1", "user,password,host\nbea,masked-value,db1"),
        ("w0 | password:\nw0 |   {}\nw1 | up", "w0 | password:\nw0 |   masked-value\nw1 | up"),
        ("kind: Secret\ndata:\n  a: {}\ntype: Opaque", "kind: Secret\ndata:\n  a: masked-value\ntype: Opaque"),
        ("  PID USER    ST\n 4711 {} R\n\n1 2 3", "  PID USER    ST\n 4711 user-1   R\n\n1 2 3"),
        ("JobID|User|State\n1|{}|COMPLETED\n1.0||COMPLETED", "JobID|User|State\n1|user-1|COMPLETED\n1.0||COMPLETED"),
        ("USER PID TTY\nroot 1 ?\nof {} nothing", "USER PID TTY\nroot 1 ?\nof {} nothing"),
        ("/home/u/{}/x", "/home/user-1/{}/x"),
        ("/scratch/d/x/{}", "/scratch/user-1/x/{}"),
        ("vgg16: {}\nvgg19: other", "vgg16: {}\nvgg19: other"),
    ],
)
def test_only_the_value_is_replaced_and_its_neighbours_stay(before: str, after: str) -> None:
    name = "hun" + "ter2x"
    assert Masker().mask_text(before.replace("{}", name)) == after.replace("{}", name)


def test_an_answer_of_very_many_names_is_cut_off_without_telling_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_SLAB", 50)
    monkeypatch.setattr(masking, "MOST_TOLD", 100)
    text = "\n".join(f"password=Zq7mK2vT{number:05d}" for number in range(400))
    masker = Masker()
    masked = masker.mask_text(text)
    assert "Zq7" not in masked
    lines = masked.split("\n")
    assert len(lines) == 400
    assert (lines[0], lines[-1]) == ("password=masked-value", "masked-value")
    assert Masker().mask_text(masked) == masked
    addresses = "\n".join(f"at 10.1.{number // 200}.{number % 200} up" for number in range(400))
    assert masker.mask_text(addresses).count(" up") == 400, "a log may tell of many addresses"
    assert masker.mask_text("GPU 0 is on PCIe x8") == "GPU 0 is on PCIe x8", "other answers are whole"


# -- what reaches over a line, or is hidden in code

PASSWORD = "Zq7" + "mK2vTx9Lw4bN8"


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    "text",
    [
        f"export TOKEN={PASSWORD[:6]}\\\n{PASSWORD[6:]}\n",
        f"run --password {PASSWORD[:6]}\\\n    {PASSWORD[6:]} --x",
        '{"\\u0070assword": "' + PASSWORD + '"}',
        "data=" + _b64(_b64(f"password={PASSWORD} and more".encode()).encode()),
        "data=" + _b64(gzip.compress(f"the file says password={PASSWORD} and more of it".encode(), mtime=0)),
        '{\n  "kty": "EC",\n  "d": "' + PASSWORD * 3 + '"\n}',
        "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n" + _b64(PASSWORD.encode() * 3) + "\nPrivate-MAC: x",
    ],
)
def test_what_is_cut_in_two_or_coded_is_found(text: str) -> None:
    masked = Masker().mask_text(text)
    for hidden in (
        PASSWORD,
        PASSWORD[6:],
        _b64(PASSWORD.encode() * 3),
        *[word for word in text.split("=") if len(word) > 60],
    ):
        assert hidden not in masked
    assert Masker().mask_text(masked) == masked


# -- the environment


@pytest.mark.parametrize(
    "name",
    [
        "CONDA_ANACONDA_UPLOAD",
        "SLURM_SPANK_FOO",
        "OMPI_MCA_x",
        "PMIX_SERVER_URI",
        "KUBERNETES_SECRETX",
        "MKL_LICENSE",
        "OMP_TEAM_X",
        "HYDRA_NOTE",
        "TORCHELASTIC_NOTE",
        "POD_NAME",
        "POD_NAMESPACE",
        "SLURM_CLUSTER_NAME",
        "SLURM_JOB_PARTITION",
        "SLURM_JOB_QOS",
        "SLURM_WORKING_CLUSTER",
        "SLURM_JOB_NAME",
        "HSA_OVERRIDE_GFX_VERSION_X",
    ],
)
def test_no_prefix_lets_a_variable_through(name: str) -> None:
    assert Masker().mask_env({name: "mypw99"}) == {name: "<dropped>"}


def test_names_of_families_have_a_source_and_a_day() -> None:
    for family in load_table("masking")["env"]["families"]:
        assert family["tool"] and family["source"] and len(str(family["day"])) == 10
        assert len(set(family["names"])) == len(family["names"])


def test_who_the_environment_tells_is_masked_in_all_of_it() -> None:
    masked = Masker().mask_env(
        {
            "PATH": "/users/dora_k/bin:/usr/bin",
            "LD_LIBRARY_PATH": "/opt/dora_k/lib",
            "USER": "dora_k",
            "HOME": "/users/dora_k",
            "https_proxy": "http://proxy.uni-x.de:3128",
            "HTTP_PROXY": "proxy.uni-x.de:3128",
            "no_proxy": "localhost,.uni-x.de,127.0.0.1",
        }
    )
    assert masked == {
        "PATH": "/users/user-1/bin:/usr/bin",
        "LD_LIBRARY_PATH": "/opt/user-1/lib",
        "USER": "user-1",
        "HOME": "/users/user-1",
        "https_proxy": "http://host-1.domain-1:3128",
        "HTTP_PROXY": "host-1.domain-1:3128",
        "no_proxy": "localhost,.domain-1,127.0.0.1",
    }
    assert Masker().mask_env(masked) == masked


def test_a_name_that_one_answer_tells_is_masked_in_the_earlier_ones() -> None:
    answers = {
        "run uptime": Answer("run uptime", "ok", b"job of dora_k on fs01.uni-x.de"),
        "run scontrol": Answer("run scontrol", "ok", b"UserId=dora_k(1234) WorkDir=/users/dora_k/x"),
        "read /proc/mounts": Answer("read /proc/mounts", "ok", b"fs01.uni-x.de:/v /d nfs4 rw 0 0"),
    }
    recorder = Recorder(MaskedHost(CaptureHost(Capture({}, "", answers), "x"), Masker()))
    for question in answers:
        recorder.ask(question)
    text = "\n".join(answer.text for answer in settled(recorder))
    assert "dora_k" not in text
    assert "uni-x" not in text
