"""Arguments of the Hugging Face Trainer, the model's loading and the adapters, as a Python module with reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rocdoctor.train.emit.data_parallel import refusal
from rocdoctor.train.emit.files import File, comment, plain
from rocdoctor.train.emit.targets import Order
from rocdoctor.train.recommend.explain.value_reasons import gib
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.shapes import parameters
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.plan import Plan

FRAMEWORKS: tuple[Framework, ...] = ("fsdp2", "ddp")
TRANSFORMERS = True

_OPTIMIZERS = {
    "adam": "adamw_torch_fused",
    "adam8bit": "adamw_bnb_8bit",
    "sgd": "sgd",
    "momentum": "sgd",
    "adafactor": "adafactor",
}

Argument = tuple[str, Any, str]


def refuses(work: Work) -> str | None:
    """Why the Trainer's arguments cannot express a configuration, or None."""
    sizes = work.parallel
    said = refusal(work, "the Trainer", FRAMEWORKS)
    if said is not None:
        return said
    if work.framework == "ddp":
        if sizes.zero or sizes.shard > 1:
            return "DistributedDataParallel shards nothing"
        if sizes.offload_optimizer or sizes.offload_weights:
            return "DistributedDataParallel moves nothing to main memory"
        return None
    if work.gpus == 1:
        return "FSDP2 on one GPU shards nothing; nearest: framework ddp"
    if sizes.zero != 3:
        return "FSDP2 shards weights, gradients and optimizer, or keeps gathered weights (SHARD_GRAD_OP)"
    if sizes.shard != sizes.dp:
        return f"fsdp_config shards over all {sizes.dp} ranks, not over {sizes.shard}; nearest: fsdp {sizes.dp}"
    if sizes.offload_optimizer != sizes.offload_weights:
        return "FSDP2 moves weights, gradients and optimizer to main memory together or not at all"
    if work.optimizer in ("adam8bit", "adafactor"):
        return f"{work.optimizer} does not support FSDP2's sharded tensors; nearest: adamw"
    if work.compile:
        return "the Trainer compiles the model before FSDP2 shards it, which was not estimated"
    if work.precision == "fp16":
        return "fp16 with FSDP2 was not proven with the Trainer; nearest: bf16"
    if work.method == "qlora":
        return "4-bit weights with FSDP2 were not proven with the Trainer; nearest: framework ddp"
    return None


def arguments(plan: Plan) -> Iterator[Argument]:
    """Name, value and reason of each argument."""
    work = plan.work
    sizes = work.parallel
    yield "per_device_train_batch_size", work.micro_batch, plan.why("micro_batch") or "sequences per GPU and pass"
    reason = "8 unless set, whose logits were not estimated"
    yield "per_device_eval_batch_size", work.micro_batch, reason
    total = f"{work.micro_batch} x {work.microbatches} x {sizes.dp} ranks = {_sequences(plan.global_batch)} per step"
    yield "gradient_accumulation_steps", work.microbatches, f"{plan.why('grad_accum') or 'passes per step'}; {total}"
    half = work.precision if work.precision != "fp32" and not work.pure_bf16 else ""
    why = plan.why("precision")
    pure = "the weights themselves are 16-bit: no autocast" if work.pure_bf16 else why or "fp32 was estimated"
    yield "bf16", half == "bf16", (why or "matrix products in bf16") if half == "bf16" else "" if half else pure
    yield "fp16", half == "fp16", (why or "matrix products in fp16") if half == "fp16" else ""
    again = work.recompute == "full"
    if work.framework == "fsdp2":
        yield "fsdp", True, plan.why("shard") or plan.why("framework") or "states are sharded"
        yield "fsdp_config", _fsdp(plan), "two layers are gathered at once; each rank saves its part"
        if work.microbatches > 1:
            reason = "without it every GPU would keep whole gradients until the last pass of a step"
            yield "accelerator_config", {"gradient_accumulation_kwargs": {"sync_each_batch": True}}, reason
    else:
        yield "gradient_checkpointing", again, plan.why("recompute") or "every layer again, or none"
        if work.gpus > 1 and again:
            yield "ddp_find_unused_parameters", False, "it cannot be combined with recompute"
    yield "optim", _OPTIMIZERS[work.optimizer], plan.why("optimizer") or "the optimizer whose states were estimated"
    if work.pure_bf16 and work.optimizer == "adam":
        # Neighbours among bf16 numbers are 0.4 to 0.8 % apart, and 0.999 lowers a second moment by 0.1 % at most. With
        # torch 2.13, 3,000 steps after gradients fell to 0.3, it was 13.7 times too high, in fp32 1.5 times; with 0.98
        # and 0.95 it was right. 0.95 is torchtitan's default (``default_adamw``).
        yield "adam_beta2", 0.95, "the usual 0.999 changes a second moment by less than bf16 can represent"
    if work.optimizer == "momentum":
        yield "optim_args", "momentum=0.9", "one momentum per parameter was estimated"
    liger = "the fused loss keeps no logits" if work.loss == "fused" else "the loss was estimated without Liger kernels"
    yield "use_liger_kernel", work.loss == "fused", plan.why("loss") or liger
    yield "torch_compile", work.compile, plan.why("compile")


def _sequences(count: int) -> str:
    return "1 sequence" if count == 1 else f"{count} sequences"


def _fsdp(plan: Plan) -> dict[str, Any]:
    work = plan.work
    return {
        "version": 2,
        "reshard_after_forward": not work.parallel.keep_gathered,
        "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "cpu_offload": work.parallel.offload_weights,
        "activation_checkpointing": work.recompute == "full",
        "state_dict_type": "SHARDED_STATE_DICT",
    }


def weights_type(work: Work) -> tuple[str, str]:
    """The type that weights are loaded in, and why."""
    if work.method != "full" and work.precision != "fp32":
        kind = "float16" if work.precision == "fp16" else "bfloat16"
        return kind, "frozen weights in 16 bits; adapters are made in fp32"
    if work.pure_bf16:
        return "bfloat16", "weights, gradients and moments in 16 bits"
    what = "weights and moments" if work.method == "full" else "frozen weights and adapters"
    return "float32", f"{what} in fp32; without it, the checkpoint's own type would be used"


def _model(plan: Plan) -> list[str]:
    work = plan.work
    kind, reason = weights_type(work)
    attention = "sdpa" if work.flash else "eager"
    why = plan.why("attention") or ("a kernel that keeps no scores" if work.flash else "scores are kept")
    out = ["def load_model(name_or_path: str):", '    """The model as it was estimated."""', "    options = {}"]
    out += [*comment(reason, indent="    "), f'    options["dtype"] = torch.{kind}']
    out += [*comment(f"{why}; pack sequences instead of padding them", indent="    ")]
    out.append(f'    options["attn_implementation"] = "{attention}"')
    if work.method == "qlora":
        out += comment("4-bit weights (NF4) as estimated, a whole copy on each GPU", indent="    ")
        out += [
            '    options["quantization_config"] = BitsAndBytesConfig(',
            "        load_in_4bit=True,",
            '        bnb_4bit_quant_type="nf4",',
            "        bnb_4bit_use_double_quant=True,",
            f"        bnb_4bit_compute_dtype=torch.{kind},",
            "    )",
            '    local = int(os.environ.get("LOCAL_RANK", "0"))',
            '    options["device_map"] = {"": local if torch.cuda.is_available() else "cpu"}',
        ]
    if work.framework == "fsdp2":
        whole = parameters(work.model) * (4 if kind == "float32" else 2)
        words = f"each of the {plan.fleet.per_node} ranks of a node loads the model whole into main memory first, "
        out += comment(f"{words}{gib(whole)} each", indent="    ")
    out += [
        "    model = AutoModelForCausalLM.from_pretrained(name_or_path, **options)",
        "    model.config.use_cache = False",
    ]
    if work.method == "full":
        return [*out, "    return model"]
    if work.recompute == "full":
        out += [
            *comment("recomputed layers need a gradient at their input", indent="    "),
            "    model.enable_input_require_grads()",
        ]
    return [*out, "    return get_peft_model(model, adapters())"]


def _adapters(work: Work) -> list[str]:
    return [
        "def adapters() -> LoraConfig:",
        '    """LoRA adapters on every linear layer."""',
        *comment("the rank that was estimated; alpha scales what they add and needs no memory", indent="    "),
        f"    return LoraConfig(r={work.lora_rank}, lora_alpha={2 * work.lora_rank}, "
        'target_modules="all-linear", task_type="CAUSAL_LM")',
    ]


def _text(plan: Plan, order: Order) -> str:
    work = plan.work
    frozen = work.method != "full"
    words = "AutoModelForCausalLM, BitsAndBytesConfig" if work.method == "qlora" else "AutoModelForCausalLM"
    out = [
        f'"""How to train {_quoted(work.model.name)} on {_quoted(plan.fleet.name)} with the Hugging Face Trainer.',
        "",
        f"Import training_arguments and load_model in {_quoted(order.script)}; torchrun starts one process per GPU.",
        "Written for transformers 5 (5.23.0 was asked).",
        '"""',
        "",
        *(["import os", ""] if work.method == "qlora" else []),
        "import torch",
        *(["from peft import LoraConfig, get_peft_model"] if frozen else []),
        f"from transformers import {words}, TrainingArguments",
        "",
        *comment("Cut or pack the data into sequences of that many tokens: activations were estimated for it."),
        f"SEQUENCE_LENGTH = {work.seq}",
        "",
    ]
    out += ["", "def training_arguments(output_dir: str, **more) -> TrainingArguments:"]
    out += ['    """What the estimate rests on; ``more`` is yours (epochs, logging, saving)."""', "    options = {}"]
    for name, value, reason in arguments(plan):
        out += comment(reason, indent="    ") if reason else []
        out.append(f'    options["{name}"] = {_python(value)}')
    out += ["    return TrainingArguments(output_dir=output_dir, **{**more, **options})", "", ""]
    if frozen:
        out += [*_adapters(work), "", ""]
    return "\n".join([*out, *_model(plan)]) + "\n"


def _python(value: Any) -> str:
    """A value of ours as Python, a mapping over several lines: no text in it has quotes of its own."""
    if not isinstance(value, dict):
        return repr(value).replace("'", '"')
    inner = "".join(f'        "{key}": {one!r},\n'.replace("'", '"') for key, one in value.items())
    return f"{{\n{inner}    }}"


def _quoted(text: str) -> str:
    """A text that cannot end a docstring."""
    return plain(text).replace("\\", "/").replace('"', "'")


def files(plan: Plan, order: Order) -> Sequence[File]:
    """``trainer_setup.py``, a module for the training script."""
    return [File("trainer_setup.py", _text(plan, order))]
