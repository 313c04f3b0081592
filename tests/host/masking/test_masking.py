"""Masking: identities, environment, relations, and the properties that hold for any text. All text is constructed."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.host.masking import network
from rocdoctor.host.masking.masker import Masker
from tests.examples import examples

KEPT = (
    "0000:03:00.0 VGA compatible controller [0300]: AMD [1002:744c] (rev c8)",
    "03:00.0 Display controller: LnkCap: Port #0, Speed 16GT/s, Width x16",
    "6.8.0-45-generic #45~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC",
    "Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0)",
    "driver version 6.14.0.31",
    "nvidia-curand-cu12       10.3.5.147",
    "nvidia-cublas-cu12==12.4.5.8",
    "libcudnn.so.9.1.0.70",
    "VBIOS version: 113-D70401XT-N11 022.040.003.043",
    "SMC firmware version: \t00.85.91.00",
    "torch 2.11.0+rocm7.2.git1234567 gfx90a gfx1100",
    "Cpus_allowed: ffffffff,00000000,0000ffff",
    "unique_id 0\nhive_id 0\ngpu_id 55069\nlocal_mem_size 25753026560\nsimd_count 192",
    "at 0xffffffffc0a1b2c3 [amdgpu] 10:20:30 c10::Error dead::beef",
    "127.0.0.1 0.0.0.0 255.255.255.0 ::1 169.254.169.254",
    "serial8250: ttyS0 at I/O 0x3f8 (irq = 4, base_baud = 115200) is a 16550A",
    "Serial: 8250/16550 driver, 32 ports, IRQ sharing enabled",
    "Serial Number: Not Specified\nUUID: Not Settable",
    'max_tokens: 4096 tokenizer: LlamaTokenizer pad_token=<pad> "token_count": 1234567',
    "NCCL_IB_PKEY=0x8001 NCCL_IB_HCA=mlx5_0:1 NCCL_SOCKET_IFNAME=eth0 UCX_NET_DEVICES=ib0",
    "subsystem 1002:744c:1da2:e471",
    "Started getty@tty1.service user@1000.service; hipMalloc@@hip_4.2 rocm@6.2.0%gcc@12.2.0",
    "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff",
    '"pass": 0, "fail": 3, PWD=/workspace',
    "build id: 8c22d1fd-1111-4222-8333-444455556666",
)


def learned() -> Masker:
    masker = Masker()
    passwd = "root:x:0:0:root:/root:/bin/sh\nbruno:x:1001:1001::/home/bruno:/bin/sh\nmax:x:1002:1002::/home/max:/bin/sh"
    masker.learn("alice-laptop.lab.example.edu", "alice", "/home/alice", passwd=passwd)
    return masker


@pytest.mark.parametrize("text", KEPT)
def test_what_a_diagnosis_needs_survives(text: str) -> None:
    assert learned().mask_text(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alice@alice-laptop:~/x$ ls /home/alice/y", "user-1@host-1:~/x$ ls ~/y"),
        ("ssh alice-laptop.lab.example.edu", "ssh host-1.domain-1"),
        ("/home/bruno/a /home/dora/b /scratch/alice/c", "/home/user-2/a /home/user-4/b /scratch/user-1/c"),
        (r"C:\Users\John Smith\torch", r"C:\Users\user-4\torch"),
        ("max_link_width 16, max 3, /home/max/x", "max_link_width 16, max 3, /home/user-3/x"),
        ("write to jane.roe@corp.example.com now", "write to email-1 now"),
        ("gpu17:12:34 [0] NCCL INFO comm", "host-2:12:34 [0] NCCL INFO comm"),
        ("Linux box-9 6.8.0-45-generic #45~22.04.1-Ubuntu SMP", "Linux host-2 6.8.0-45-generic #45~22.04.1-Ubuntu SMP"),
        ("Nov 21 08:20:28 my-host kernel: up", "Nov 21 08:20:28 host-2 kernel: up"),
        ('<info name="HostName" value="tioga29"/>', '<info name="HostName" value="host-2"/>'),
        ("connect to [node17.example.org]:29500", "connect to [host-2.domain-2]:29500"),
        ("torchrun --master-addr=10.0.0.6", "torchrun --master-addr=ip-1.1"),
        ("eth0 18:56:80:ac:4b:c1 enx185680ac4bc1", "eth0 02:5e:ed:00:00:01 enx025eed000001"),
        ("root=UUID=d55f0c3f-88f5-4c65-a93a-285c1a30361c ro", "root=UUID=00000001-5eed-4000-8000-000000000001 ro"),
        ("Machine ID: 0123456789abcdef0123456789abcdef", "Machine ID: 5eed0000000000000000000000000001"),
        ("<serial>0322416026235</serial>", "<serial>serial-1</serial>"),
        ("/dev/disk/by-id/nvme-ACME_2TB_S7KHNJ0W12-part2", "/dev/disk/by-id/nvme-wwn-1-part2"),
    ],
)
def test_identities_are_typed(text: str, expected: str) -> None:
    assert learned().mask_text(text) == expected


def test_a_64_bit_id_stays_one_number_in_every_form() -> None:
    number = 0x79CCD55167A2124A
    masker = Masker()
    decimal = int(masker.mask_text(f"hive_id 0\nunique_id {number}\n").split()[-1])
    assert decimal != number
    assert masker.mask_text(f"GPU[0] : Unique ID: 0x{number:x}") == f"GPU[0] : Unique ID: 0x{decimal:016x}"
    assert masker.mask_text(f"{number:016x}\n") == f"{decimal:016x}\n"
    assert masker.mask_text(f"Uuid:    GPU-{number:016x}  ") == f"Uuid:    GPU-{decimal:016x}  "
    assert masker.mask_text(f"ASIC_SERIAL: 0x{number:016X}") == f"ASIC_SERIAL: 0x{decimal:016X}"
    assert masker.mask_text(f"seen {number} before") == f"seen {decimal} before"
    assert masker.distinct()["device-id"] == 1


def test_a_guid_is_the_same_in_a_gid_and_in_an_address() -> None:
    masker = Masker()
    text = masker.mask_text(
        "506b:4b03:003c:eee8\nfe80:0000:0000:0000:506b:4b03:003c:eee8\n20:00:10:87:fe:80:00:00:00:00:00:00:50:6b:4b:03:00:3c:ee:e8"
    )
    assert text.splitlines() == [
        "5eed:0000:0000:0001",
        "fe80:0000:0000:0000:5eed:0000:0000:0001",
        "20:00:10:87:fe:80:00:00:00:00:00:00:5e:ed:00:00:00:00:00:01",
    ]
    roce_v2 = masker.mask_text("0000:0000:0000:0000:0000:ffff:0a00:0005")
    assert roce_v2 == "0000:0000:0000:0000:0000:ffff:5eed:0001", "the GID stays one that maps IPv4"


def test_addresses_of_one_network_stay_together() -> None:
    masker = Masker()
    text = masker.mask_text("inet 10.1.2.3/24 brd 10.1.2.255\nnameserver 10.9.0.1\nvia 10.1.2.4 dev eth0\n")
    assert text == "inet ip-1.1/24 brd ip-1.255\nnameserver ip-2.1\nvia ip-1.2 dev eth0\n"
    six = masker.mask_text("inet6 2a02:8109:8c00::17/64, 2a02:8109:8c00::18, 2a03::1, fe80::a8bb:ccff:fedd:eeff")
    assert six == "inet6 2001:db8:0:1::1/64, 2001:db8:0:1::2, 2001:db8:0:2::3, fe80::5eed:0:0:1"


def test_an_abbreviated_uuid_still_selects_its_gpu() -> None:
    masker = Masker()
    full = masker.mask_text("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6")
    assert full == "GPU-00000001-5eed-4000-8000-000000000001"
    assert masker.mask_text("CUDA_VISIBLE_DEVICES=GPU-8932f937") == "CUDA_VISIBLE_DEVICES=GPU-00000001"


def test_environment_by_allow_list() -> None:
    env = {
        "PATH": "/home/alice/bin:/usr/bin",
        "NCCL_DEBUG": "INFO",
        "NCCL_IB_HCAS": "mlx5_0",
        "MY_APP": "private",
        "https_proxy": "http://u:" + "pw@10.0.0.1:3128",
        "MASTER_ADDR": "nodea",
        "SLURM_NODELIST": "gpu[01-04],fat7",
        "USER": "alice",
        "HOME": "/home/alice",
        "CONDA_TOKEN": "abc",
        "SLURM_JWT": "x",
        "OMP_NUM_THREADS": "8",
        "HSA_OVERRIDE_GFX_VERSION_1": "11.0.0",
        "TOKENIZERS_PARALLELISM": "false",
        "PWD": "/home/alice/w",
        "LANG": "",
    }
    masker = learned()
    masked = masker.mask_env(env)
    assert masked == {
        "PATH": "~/bin:/usr/bin",
        "NCCL_DEBUG": "INFO",
        "NCCL_IB_HCAS": "<dropped>",
        "MY_APP": "<dropped>",
        "https_proxy": "http://masked-userinfo@ip-1.1:3128",
        "MASTER_ADDR": "host-2",
        "SLURM_NODELIST": "host-3[01-04],host-4",
        "USER": "user-1",
        "HOME": "~",
        "CONDA_TOKEN": "<dropped>",
        "SLURM_JWT": "<dropped>",
        "OMP_NUM_THREADS": "8",
        "HSA_OVERRIDE_GFX_VERSION_1": "11.0.0",
        "TOKENIZERS_PARALLELISM": "false",
        "PWD": "~/w",
        "LANG": "",
    }
    assert masker.mask_env(masked) == masked
    assert Masker().mask_env(masked) == masked


def test_questions_and_what_they_tell() -> None:
    masker = learned()
    assert masker.mask_question("read /home/alice/.bashrc") == "read ~/.bashrc"
    assert masker.mask_question("run lspci -D -nn -vv") == "run lspci -D -nn -vv"
    assert masker.mask_text("AB12345\n", "read /sys/class/dmi/id/product_serial") == "serial-1\n"
    assert masker.mask_text("bignode\n", "read /etc/hostname") == "host-2\n"
    assert masker.mask_text("on bignode", "") == "on host-2"


def test_counts_are_by_class() -> None:
    masker = learned()
    masker.mask_text("10.0.0.1/8 10.0.0.1/8 alice")
    assert (masker.counts()["ip"], masker.distinct()["ip"]) == (2, 1)
    assert masker.counts()["user"] == 1


FRAGMENTS = st.sampled_from(
    [
        *KEPT,
        " ",
        "\n",
        '"',
        "'",
        "\\",
        ",",
        ";",
        "&x=",
        "alice",
        "alice-laptop",
        "/home/x/",
        "10.0.0.5/24",
        "inet ",
        "addr: ",
        "1.2.3.4",
        "unique_id ",
        "serial: ",
        "UUID=",
        "79ccd55167a2124a",
        "14073402507705256556",
        "GPU-",
        "a@b.cc",
        "alice@node-1:~$ ",
        "key=",
        "token: ",
        "password=",
        "://u:p@h/",
        "fe80::1234:5678:9abc:def0",
        "18:56:80:ac:4b:c1",
        "Hostname: ",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "--token ",
        "A1b2C3d4E5f6",
        "ssh ",
        "x_y-z",
        "Cookie: a=b",
        "Bearer ",
        "<password>",
        "</password>",
    ]
)
NOISE = st.sampled_from(["alice", "10.0.0.5/24", "HF_TOKEN=abcd1", "serial: AB1234"])


@examples(4)
@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=12)), max_size=14))
def test_any_text_is_masked_once_and_for_all(parts: list[str]) -> None:
    masker = learned()
    once = masker.mask_text("".join(parts))
    assert masker.mask_text(once) == once
    assert learned().mask_text("".join(parts)) == once, "deterministic"


@examples(2)
@given(st.text(max_size=400), st.text(max_size=60))
def test_no_text_raises(text: str, name: str) -> None:
    masker = Masker()
    masker.learn(name, name, "/" + name, name, passwd=text, extra_users=[name])
    masker.mask_text(text, name)
    masker.mask_env({name: text, "USER": text, "MASTER_ADDR": text, "X_TOKEN": text})
    masker.mask_question(text)


@examples(2)
@given(
    st.sampled_from(KEPT[:9]),
    st.lists(st.sampled_from(["alice", "10.0.0.5/24", "HF_TOKEN=abcd1", "serial: AB1234"]), max_size=4),
)
def test_neighbours_of_a_secret_survive(kept: str, noise: list[str]) -> None:
    masked = learned().mask_text("\n".join([*noise, kept, *noise]))
    assert kept in masked
    assert not re.search("alice|10.0.0.5|abcd1|AB1234", masked)


@pytest.mark.parametrize("late", [False, True])
def test_an_address_of_the_own_domain_is_masked_whole(late: bool) -> None:
    masker = Masker()
    if not late:
        masker.learn(hostname="box7.corp.example-lab.com")
    text = "contact jvandermeer@corp.example-lab.com or jvandermeer@gpu.corp.example-lab.com\n"
    said = masker.mask_text(text + "HOSTNAME=zeus17.corp.example-lab.com\n" if late else text)
    assert "jvandermeer" not in masker.mask_text(said)
    assert "jvandermeer" not in said


@pytest.mark.parametrize(
    "text", ["a well-\nknown password-\nfree login of multi-\nnode runs", "passwords are self-\nmanaged here"]
)
def test_words_that_a_line_end_divides_stay(text: str) -> None:
    assert Masker().mask_text(text) == text


def test_the_digits_beside_an_address_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands beside four numbers is judged once for all lines that differ in digits alone."""
    rng = random.Random(7)
    said = (
        *("SRC={}:443", "inet6 {}", "inet {}/24", "python3-x {}", "python3-a-package-of-a-long-name ({}", "driver {}"),
        *("{}@o2ib:{}@o2ib1:/fs", "{}@tcp4", "from {}", "lib64 {}", "nccl2 {}", "x{} {}", "v{}", "port 22 {} 33"),
        *("libfoo5 {}", "{} host7", "cuda12 {} dev eth0", "==1.2 {}", "ip {}", "package {}", "{}", "abc12 {}"),
    )
    lines = [
        one.replace("{}", ".".join(str(rng.randrange(256)) for _ in range(4)), 1) for one in said for _ in range(9)
    ]
    lines = [one.replace("{}", f"10.{rng.randrange(256)}.0.9") for one in lines]
    network._beside.cache_clear()
    together = [Masker().mask_text(one) for one in lines]
    monkeypatch.setattr(network, "_NO_DIGITS", {})
    network._beside.cache_clear()
    assert [Masker().mask_text(one) for one in lines] == together
    assert sum(one != line for one, line in zip(together, lines, strict=True)) > len(lines) // 3
