"""collect_env, ls -l, names of distributions, statements; collect_env is transcribed, the rest constructed."""

from __future__ import annotations

from rocdoctor.knowledge.gpus.cards_without_profile import older_card
from rocdoctor.parsers.listings.collect_env import parse_collect_env
from rocdoctor.parsers.listings.ls_long import parse_ls_long
from rocdoctor.parsers.own.statements import parse_stated
from rocdoctor.parsers.system.os_name import parse_os_name

NVIDIA = """PyTorch version: 1.6.0
Is debug build: No
CUDA used to build PyTorch: 10.2

OS: Ubuntu 18.04.5 LTS
Python version: 3.6
Is CUDA available: Yes
GPU models and configuration:
GPU 0: Tesla V100-SXM2-16GB
GPU 1: Tesla V100-SXM2-16GB

Nvidia driver version: 450.51.06

Versions of relevant libraries:
[pip3] numpy==1.19.1
[conda] torch                     1.6.0                    pypi_0    pypi
"""


def test_collect_env_of_an_old_release() -> None:
    env = parse_collect_env(NVIDIA)
    assert (env.torch, env.cuda, env.driver, env.os, env.python) == (
        "1.6.0",
        "10.2",
        "450.51.06",
        "Ubuntu 18.04.5 LTS",
        "3.6",
    )
    assert [(index, name, gfx) for index, name, gfx, _ in env.gpus] == [
        (0, "Tesla V100-SXM2-16GB", None),
        (1, "Tesla V100-SXM2-16GB", None),
    ]
    assert env.packages == {"numpy": "1.19.1", "torch": "1.6.0"}
    assert env.lines["cuda"] == 3


def test_a_build_without_a_back_end_says_so() -> None:
    text = "PyTorch version: 2.4.0+cpu\nCUDA used to build PyTorch: None\nROCM used to build PyTorch: N/A\n"
    env = parse_collect_env(text)
    assert (env.cuda, env.hip) == (None, None)
    assert set(env.without) == {"cuda", "hip"}


def test_device_nodes_of_ls() -> None:
    (kfd, card) = parse_ls_long(
        "crw-rw---- 1 root render 235, 0 Nov  1 10:00 /dev/kfd\ntotal 0\ncrw-rw-rw-+ 1 root video 226, 0 "
        "Nov  1 10:00 card0\n"
    )
    assert (kfd.path, kfd.mode, kfd.group, kfd.line) == ("/dev/kfd", "0660", "render", 1)
    assert (card.path, card.mode, card.group, card.line) == ("card0", "0666", "video", 3)
    assert parse_ls_long("-rw-r--r-- 1 a b 3 Nov 1 10:00 file") == ()


def test_names_of_distributions() -> None:
    found = parse_os_name("Ubuntu 22.04.3 LTS (Jammy Jellyfish)")
    assert found is not None
    assert (found.id, found.version_id, found.pretty_name) == (
        "ubuntu",
        "22.04.3",
        "Ubuntu 22.04.3 LTS (Jammy Jellyfish)",
    )
    assert parse_os_name("Windows 11") is None


def test_statements_that_make_no_sense_are_left_out() -> None:
    rows = ['{"field": "os", "value": "Debian 12", "line": 3}', "noise", '{"field": 1}', '{"line": 2}']
    text = "\n".join([*rows, '{"field": "gpu", "line": 1, "count": 99}'])
    one, two = parse_stated(text)
    assert (one.field, one.value, one.line) == ("os", "Debian 12", 3)
    assert (two.field, two.count) == ("gpu", 1)


def test_cards_without_a_profile() -> None:
    card = older_card("GTX 1080 Ti")
    assert card is not None
    assert card.compute_capability == "6.1"
    polaris = older_card("AMD Radeon RX 580")
    assert polaris is not None
    assert polaris.gfx == "gfx803"
    assert older_card("RX 99999") is None
