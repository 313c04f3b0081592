"""Reports about several nodes are posted: attacks on their masking, in text, in JSON and among other texts."""

from __future__ import annotations

import json

import pytest

from rocdoctor.host.masking.masker import Masker
from rocdoctor.report.smoke import nodes_document
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts, disclosed
from tests.host.masking.written import CHOSEN, DOMAIN, HOST, RANDOM, USER

_FULL = f"{HOST}.hpc.{DOMAIN}.edu"
_HF = "hf_" + "q8ZrT5nYc2WvB7kXe4JmH9dLs3GpAbCdEf"
# What a program of a node, a launcher or a name server may say, and what must be gone.
_ATTACKS = (
    (f"connect {USER}@10.1.2.3 failed", USER),
    (f"ssh {USER}@10.1.2.3: Permission denied", USER),
    (f"{USER}@192.168.7.9's password: {CHOSEN}", CHOSEN),
    (f"ssh: connect to host {HOST} (10.1.2.3) port 22: No route", HOST),
    (f"{HOST}/10.1.2.3:29500 refused", HOST),
    (f"10.1.2.3 {_FULL} {HOST}", DOMAIN),
    (f"tcp://{HOST}:29500: timeout", HOST),
    (f"tcp://{_FULL}:29500", DOMAIN),
    (f"gai error: {_FULL}: Name or service not known", DOMAIN),
    (f"password=10.1.2.3{CHOSEN}", CHOSEN),
    (f"http://bea:{CHOSEN}@10.1.2.3:8080/x", CHOSEN),
    (f"http://10.1.2.3/x?token={RANDOM}", RANDOM),
    (f"https://h/x?sig={RANDOM}&y=10.1.2.3", RANDOM),
    (f"10.1.2.3 HF_TOKEN={_HF} not set", _HF),
    (f"10.1.2.3: Authorization: Bearer {RANDOM}", RANDOM),
    (f"Authorization: Bearer {RANDOM} for 10.1.2.3", RANDOM),
    (f"--api-key {RANDOM} 10.0.0.1", RANDOM),
    (f"sshpass -p {CHOSEN} ssh 10.1.2.3", CHOSEN),
    (f"sshpass -p{CHOSEN} ssh {USER}@10.1.2.3 x", CHOSEN),
    (f"curl -u bea:{CHOSEN} http://10.1.2.3/x", CHOSEN),
    (f"redis://:{CHOSEN}@10.1.2.3:6379/0", CHOSEN),
    (f"mongodb://bea:{CHOSEN}@10.1.2.3,10.1.2.4/x", CHOSEN),
    (f"amqp://bea:p/{CHOSEN}@10.1.2.3//", CHOSEN),
    (f"/home/{USER}/train.py: No such file", USER),
    (f'File "/home/{USER}/x.py", line 3', USER),
    (f"/scratch/{USER}/run/ckpt missing on 10.1.2.3", USER),
    (f"can't open /lustre/{USER}/10.1.2.3.log", USER),
    (f"uid=1000({USER}) gid=1000({USER})", USER),
    (f"USER={USER} at 10.1.2.3", USER),
    (f"getpwnam: {USER} not found", USER),
    (f"[{HOST}:4711] mca_base_component 10.1.2.3", HOST),
    (f"{HOST}:4711:4712 [0] NCCL WARN Connect to 10.1.2.3<29500> failed", HOST),
    (f"{HOST}:4711:4712 [0] NCCL INFO NET/Socket : Using [0]eth0:10.1.2.3<0>", HOST),
    ("NCCL INFO Bootstrap : Using eth0:141.58.1.2<0>", "141.58.1.2"),
    ("peer 141.58.1.2 gone", "141.58.1.2"),
    ("peer 2a02:8109:8c00::17 gone", "2a02:8109"),
    ("2a02:8109:8c00:0:0:0:0:17/64", "2a02:8109"),
    ("[2a02:8109:8c00::17]:29500", "2a02:8109"),
    ("[::ffff:141.58.1.2]:29500", "141.58.1.2"),
    ("http://141.58.1.2:80/x", "141.58.1.2"),
    ("host=141.58.1.2/24", "141.58.1.2"),
    ("fe80::1a56:80ff:feac:4bc1%eth0", "80ff:feac"),
    ("link 18:56:80:ac:4b:c1 down", "80:ac:4b"),
    ("18-56-80-ac-4b-c1 at 10.1.2.3", "80-ac-4b"),
    ("enx185680ac4bc1 is down", "185680ac4bc1"),
    ("ip-141-58-1-2.eu.compute.internal", "141-58-1-2"),
    ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 lost at 10.1.2.3", "8932f937"),
    ("Serial Number: 0322416026235", "0322416026235"),
    ("node GUID 0x506b4b0300a1b2c4 at 10.1.2.3", "506b4b0300a1b2c4"),
    (f"{USER}@{_FULL} wrote", USER),
    (f"mail {USER}@{DOMAIN}.edu", DOMAIN),
    (f"srun: error: {HOST}: task 3: Killed", HOST),
    (f"slurmstepd: error: *** STEP 4711.0 ON {HOST} CANCELLED", HOST),
    (f"JobId=4711 UserId={USER}(1000) NodeList={HOST}", USER),
    (f"-----BEGIN RSA PRIVATE KEY-----\n{RANDOM}{RANDOM}\n-----END RSA PRIVATE KEY-----", RANDOM),
    (f"password\x1b[31m={CHOSEN}\x1b[0m", CHOSEN),
    (f"pass\x1b[1mword=\x1b[0m{CHOSEN}", CHOSEN),
    (f"/home/\x1b[1m{USER}\x1b[0m/x", USER),
    (f"ssh {USER}\x1b[0m@{HOST}", USER),
    (f"pass\u200bword={CHOSEN}", CHOSEN),
    (f"PASSWORD IS {CHOSEN} ON 10.1.2.3", CHOSEN),
    (f"ROCDOCTOR_SMOKE_KEY={RANDOM}", RANDOM),
    (f"rocdoctor smoke --nnodes 2 --key {RANDOM} --rdzv 10.1.2.3:1", RANDOM),
    (f"MUNGE:AwQF{RANDOM}{RANDOM}: bad", RANDOM),
    (f"SLURM_JWT=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.{RANDOM}", RANDOM),
    (f"WANDB_API_KEY={RANDOM} 10.1.2.3", RANDOM),
    (f"NCCL_COMM_ID={HOST}:29500", HOST),
    (f"FI_OPX_UUID={'0123456789abcdef' * 2}", "0123456789abcdef01234567"),
    (f"NCCL_DEBUG_FILE=/home/{USER}/%h.log", USER),
    (f"NCCL_NET_PLUGIN=/users/{USER}/lib.so", USER),
)


def test_nothing_that_a_node_says_tells_who_and_where() -> None:
    told = []
    for text, hidden in _ATTACKS:
        for shape in (text, f"node 0 to node 1: {text}\n  fix: x", {"findings": [{"message": text}]}, [text]):
            shown = nodes_document.discreet(shape, [], Masker())
            if hidden in json.dumps(shown, ensure_ascii=False):
                told.append((text, shown))
    assert told == []


def test_what_a_later_text_tells_is_gone_from_the_earlier_ones() -> None:
    shown = nodes_document.discreet(["the job of kowalewska", "USER=kowalewska"], [], Masker())
    assert shown == ["the job of user-1", "USER=user-1"]


@pytest.mark.parametrize(
    "text",
    [
        "node 0 to node 1: 0.1 ms, there 9.4 Gbit/s, back 9.4 Gbit/s",
        "no connection to 10.1.2.3:29500 (ib0, MTU 9000) from fd00::17",
        "fe80::17%eth0 and 192.0.2.7 and 127.0.0.1 and [fd00::17]:29500",
        "export NCCL_SOCKET_IFNAME=ib0",
        "sudo ip link set dev eth0 mtu 9000 # 10.0.0.1/24",
    ],
)
def test_what_must_be_mended_stays(text: str) -> None:
    assert nodes_document.discreet(text, [], Masker()) == text


def test_many_addresses_stay_what_they_are() -> None:
    text = " ".join(f"10.1.{number // 200}.{number % 200}" for number in range(900))
    assert nodes_document.discreet(text, [], Masker()) == text


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("NCCL_COMM_ID", f"{HOST}:29500", HOST),
        ("NCCL_HOSTID", HOST, HOST),
        ("NCCL_DEBUG_FILE", f"/users/{USER}/x", USER),
        ("NCCL_TOPO_FILE", f"/scratch/{USER}/x", USER),
        ("UCX_FOO", HOST, HOST),
        ("TP_SOCKET_NOTE", CHOSEN, CHOSEN),
        ("FI_AUTH", _HF, _HF),
    ],
)
def test_variables_are_told_without_names_and_secrets(name: str, value: str, hidden: str) -> None:
    facts = NodeFacts(0, {}, (), None, None, {name: value}, problem=f"cannot start /home/{USER}/x")
    told = disclosed(facts, "key", Masker())
    assert hidden not in told.variables[name]
    assert USER not in told.problem


def test_an_interface_is_told_as_it_is() -> None:
    facts = NodeFacts(0, {}, (), None, None, {"TP_SOCKET_IFNAME": "ib0", "NCCL_SOCKET_IFNAME": "=eth0"})
    assert disclosed(facts, "key", Masker()).variables == facts.variables
