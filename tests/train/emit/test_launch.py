from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.train.emit.launch import demands, torchrun
from rocdoctor.train.emit.launcher import Argument, array, model_words, word
from rocdoctor.train.emit.targets import Order
from tests.train.emit.plan_kit import fleet, plan


def _words(text: str, **variables: str) -> list[str]:
    program = f'{text}\nprintf "%s\\0" "${{words[@]}}"'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True, env=variables)
    return done.stdout.split("\0")[:-1]


@pytest.mark.parametrize(
    "odd", ["a b", "$HOME", "$(id)", "`id`", "it's", 'a "b"', "\\", "a\nb", "#x", "-x", "*", "$x\\"]
)
def test_bash_reads_every_word_back(odd: str) -> None:
    lines = list(array("words", [Argument(("run", odd, "end"), "why\nexit 1")]))
    assert _words("\n".join(lines)) == ["run", odd, "end"]


def test_variables_of_the_shell_are_filled_in_only_where_they_are_meant() -> None:
    lines = array("words", [Argument(("--nnodes", "$N x"), "", True), Argument(("$N",), "")])
    assert _words("\n".join(lines), N="two words") == ["--nnodes", "two words x", "$N"]
    assert word("plain-1.2/x:3") == "plain-1.2/x:3"


def test_one_node_meets_itself_by_a_store_without_pickles() -> None:
    words = [part for one in torchrun(plan(), Order("go.py", ("--x", "1")), "1", None, None) for part in one.words]
    assert words == [
        "torchrun",
        "--rdzv-backend",
        "static",
        "--rdzv-endpoint",
        "127.0.0.1:29500",
        "--nproc-per-node",
        "8",
        "go.py",
        "--x",
        "1",
    ]


def test_several_nodes_meet_on_the_first() -> None:
    found = torchrun(plan(fleet(nodes=4)), Order(), "4", "$NODE_RANK", "$FIRST:29500", "$JOB")
    words = [part for one in found for part in one.words]
    assert words[1:-3] == [
        "--nnodes",
        "4",
        "--rdzv-backend",
        "static",
        "--rdzv-endpoint",
        "$FIRST:29500",
        "--node-rank",
        "$NODE_RANK",
        "--rdzv-id",
        "$JOB",
    ]
    assert {part for one in found if one.variables for part in one.words if "$" in part} == {
        "$NODE_RANK",
        "$FIRST:29500",
        "$JOB",
    }


def _told(**fields: Any) -> str:
    return " / ".join(demands(plan(**fields), Order(script="own.py")))


# Each setting that the memory of a plan rests on: a specification with it, and what the program is told.
_DEMANDS: list[tuple[dict[str, Any], str]] = [
    ({"micro_batch": 3}, "3 sequences of 8192 tokens per data-parallel rank and pass"),
    ({"micro_batch": 3, "grad_accum": 5}, "5 passes before each optimizer step, which sees 120 sequences"),
    ({"seq": 4096}, "1 sequence of 4096 tokens"),
    ({"framework": "ddp"}, "DistributedDataParallel"),
    ({"framework": "fsdp2", "parallel": {"fsdp": 8}}, "weights over 8 ranks with fully_shard"),
    ({"framework": "fsdp2", "parallel": {"fsdp": 4, "dp": 8}}, "over 4 ranks, in 2 copies"),
    ({"framework": "fsdp1", "parallel": {"strategy": "SHARD_GRAD_OP", "fsdp": 8}}, "keep gathered weights"),
    ({"framework": "deepspeed", "parallel": {"zero": 2}}, "shard optimizer states and gradients over 8 ranks"),
    ({"framework": "deepspeed", "parallel": {"zero": 3, "offload_optimizer": "cpu"}}, "optimizer in main memory"),
    ({"parallel": {"tp": 4, "sp": True}, "framework": "megatron"}, "tensor parallelism over 4"),
    ({"parallel": {"tp": 4, "sp": True}, "framework": "megatron"}, "sequence parallelism"),
    ({"parallel": {"pp": 4, "vpp": 2, "schedule": "interleaved"}, "framework": "megatron"}, "2 chunks per stage"),
    ({"parallel": {"cp": 2}, "framework": "megatron"}, "context parallelism over 2"),
    ({"precision": "fp16"}, "gradient scaler"),
    ({"precision": "fp8"}, "float8 with one scale per tensor"),
    ({"precision": "pure bf16"}, "gradients and optimizer in bf16"),
    ({"recompute": "full"}, "activations of all layers"),
    ({"recompute": "full", "recompute_layers": 7}, "7 of the 32 layers"),
    ({"recompute": "selective-op"}, "every second matrix product"),
    ({"recompute": "selective"}, "all but attention"),
    ({"optimizer": "adam8bit"}, "8-bit AdamW"),
    ({"fused_ce": True}, "fused cross-entropy"),
    ({"attention": "flash"}, "flash attention"),
    ({"compile": True}, "torch.compile"),
    ({"method": "lora", "lora_rank": 64}, "adapters of rank 64"),
    ({"method": "qlora"}, "4 bits"),
]


@pytest.mark.parametrize(("fields", "expected"), _DEMANDS, ids=[expected for _, expected in _DEMANDS])
def test_the_program_is_told_what_the_memory_rests_on(fields: dict[str, Any], expected: str) -> None:
    told = _told(**fields)
    assert expected in told
    other = _told(
        seq=2048, micro_batch=2, framework="fsdp2", parallel={"fsdp": 2, "dp": 8}, attention="eager", recompute="none"
    )
    assert expected not in other


def test_each_demand_has_the_reason_of_the_choice() -> None:
    assert "in bf16 with fp32 master weights" in _told()
    assert "(matrix cores reach their peak in it)" in _told()


def test_processors_talk_over_gloo() -> None:
    assert "gloo" in _told(where=fleet("RTX 4090", 2, vendor="cpu"))
    assert "gloo" not in _told()


def test_comments_name_no_folder() -> None:
    made = plan()
    for name, expected in (
        ("/home/somebody/my-model", "my-model"),
        ("meta/llama", "meta/llama"),
        (None, "a model with"),
    ):
        named = replace(made, workload=replace(made.workload, model_id=name))
        assert model_words(named).startswith(expected)


def test_adamw_is_asked_for_in_the_form_that_was_estimated() -> None:
    """The default form of torch's AdamW copies all second moments in each step; it is counted under DDP alone."""
    assert "AdamW optimizer, with fused=True" in _told(parallel={"fsdp": 8}, framework="fsdp2")
    assert "fused=True" not in _told(parallel={"dp": 8}, framework="ddp")
