"""Dumps of bytes, texts between three quotes, addresses in addresses, files of cores, and first lines that name."""

from __future__ import annotations

import pytest

from rocdoctor.host.masking.masker import Masker

_SECRET = "qwJ83kdlsjQ9x"
_DUMP = (
    "00000000  70 61 73 73 77 6f 72 64  3d 71 77 4a 38 33 6b 64  |password=qwJ83kd|\n"
    "00000010  6c 73 6a 51 39 78 0a                              |lsjQ9x.|\n00000017"
)
_XXD = (
    "00000000: 7061 7373 776f 7264 3d71 774a 3833 6b64  password=qwJ83kd\n"
    "00000010: 6c73 6a51 3978 0a                        lsjQ9x."
)


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        (_DUMP, ("6c 73 6a 51", "lsjQ9x", "71 77 4a", "qwJ83kd")),
        (_XXD, ("6c73 6a51", "lsjQ9x", "3d71 774a", "qwJ83kd")),
        (f'password = """\n{_SECRET}"""\n', (_SECRET,)),
        (f"[db]\napi_key = '''\n{_SECRET}'''\nport = 1", (_SECRET,)),
        (f"GET /cb?x=password%253D{_SECRET}%2526y=1", (_SECRET,)),
        (f"GET /cb?x=password%25253D{_SECRET}", (_SECRET,)),
        ('"Config": {"Hostname": "kahn12", "Domainname": "zetalab", "User": ""}', ("zetalab", "kahn12")),
        ("core.python3.qtester.zeta-gpu7.12345.1699999999", ("qtester", "zeta-gpu7")),
        ("-rw------- 1 root root 99 core.python.zeta-gpu7.12345.1699999999", ("zeta-gpu7",)),
        ("core.python.1000.zetabox.4411", ("zetabox",)),
        ("zetabox\n    description: Desktop Computer\n    product: System\n  *-core\n", ("zetabox",)),
        ("zetabox                     \n    description: Rack Mount Chassis\n    width: 64 bits", ("zetabox",)),
        ("[0] AMD | 40'C, 3 % | 500 / 65536 MB | qtester(5M) gdm2:python/4711(?M)", ("qtester", "gdm2")),
    ],
)
def test_it_is_gone(text: str, gone: tuple[str, ...]) -> None:
    masked = Masker().mask_text(text)
    assert [one for one in gone if one in masked] == []
    assert masked.count("\n") == text.count("\n")
    assert Masker().mask_text(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "allocated 5M) foo(3M) in pool (12M) bar(4M)",
        "pool: weights(5M) cache(3M)",
        "10 / 20 MB | step(5) loss(3)",
        "core.model.layers.12.weight",
        "core.encoder.layers.11",
        "core.blocks.3.attn.0",
        "import core.engine.v1.0",
        "core.python.4711",
        "core.4711",
        '"Domainname": "",',
        '"DomainName": "localdomain"',
        "domain_name = None",
        "computer\n    description: Desktop Computer\n    width: 64 bits\n",
        "parameters:\n    description: the path of the model\n",
        "fsdp\n    description: shards the parameters\nddp\n    description: copies them\n",
        "GET /a%2520b%253Fc%253D1",
        "GET /search?q=100%25%20GPU",
        'text = """\nhello"""\n',
        'doc = """\nReset"""\n',
        "00000000  7f 45 4c 46 02 01 01 00  00 00 00 00 00 00 00 00  |.ELF............|\n"
        "00000010  03 00 3e 00 01 00 00 00                           |..>.....|\n00000018",
        "00000000  47 50 55 20 68 61 6e 67  20 64 65 74 65 63 74 65  |GPU hang detecte|\n"
        "00000010  64 21 0a                                          |d!.|\n00000013",
        "0000: 48 89 e5\n0003: 48 83 ec 10",
    ],
)
def test_it_stays(text: str) -> None:
    assert Masker().mask_text(text) == text
