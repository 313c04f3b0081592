"""The configuration of LLaMA-Factory 0.9.5, and the script that starts it.

Keys are the fields of ``ModelArguments``, ``DataArguments`` and ``FinetuningArguments`` (llamafactory/hparams) and of
transformers' ``TrainingArguments``; what it does where a key is left out is in ``model/adapter.py`` and
``model/model_utils/checkpointing.py``. Read 2026-11-24. With FSDP it needs a launcher's file of its own beside this
one, so only DistributedDataParallel is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocdoctor.train.emit.files import File
from rocdoctor.train.emit.launcher import Argument, own_options
from rocdoctor.train.emit.recipe import RecipeLine, recipe, with_script
from rocdoctor.train.emit.script import because
from rocdoctor.train.emit.targets import Order, trainer
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.plan import Plan, Setting

VERSION = "0.9.5"
FRAMEWORKS: tuple[Framework, ...] = ("ddp",)
TRANSFORMERS = True

_OWN_NAMES = {"use_liger_kernel": "enable_liger_kernel"}


def refuses(work: Work) -> str | None:
    """Why LLaMA-Factory's file cannot express a configuration, or None."""
    if work.framework not in FRAMEWORKS:
        return f"the configuration follows {work.framework}; this file of LLaMA-Factory can express ddp; nearest: trl"
    if work.precision == "fp32":
        return "LLaMA-Factory loads weights in the type of the checkpoint where nothing is trained in 16 bits; " + (
            "nearest: bf16"
        )
    return trainer.refuses(work)


def entries(plan: Plan) -> Iterator[RecipeLine]:
    """Every value that the estimate rests on."""
    work = plan.work
    stage, words = ("pt", "texts as they are") if plan.workload.method == "pretrain" else ("sft", "answers and chats")
    yield RecipeLine("stage", stage, f"{words} are trained on")
    yield RecipeLine("do_train", True)
    full = work.method == "full"
    yield RecipeLine("finetuning_type", "full" if full else "lora", because(plan, "method", "what is trained"))
    for key, value, reason in trainer.arguments(plan):
        if key == "gradient_checkpointing":
            # Its own switch, which is on unless it is told otherwise.
            yield RecipeLine("disable_gradient_checkpointing", not value, reason)
        else:
            yield RecipeLine(_OWN_NAMES.get(key, key), value, reason)
    if full:
        yield RecipeLine("pure_bf16", work.pure_bf16, trainer.weights_type(work)[1])
    kernel = "a kernel that keeps no scores" if work.flash else "scores are kept"
    yield RecipeLine("flash_attn", "sdpa" if work.flash else "disabled", because(plan, "attention", kernel))
    yield RecipeLine("cutoff_len", work.seq, f"activations were estimated for {work.seq} tokens per sequence")
    yield RecipeLine("packing", True, "every sequence is about that long: padding would be computed for nothing")
    if full:
        return
    yield RecipeLine("lora_rank", work.lora_rank, "the rank that was estimated")
    yield RecipeLine("lora_alpha", 2 * work.lora_rank, "it scales what adapters add and needs no memory")
    yield RecipeLine("lora_target", "all", "every linear layer has adapters")
    if work.method == "qlora":
        yield RecipeLine("quantization_bit", 4, "4-bit weights as estimated, a whole copy on each GPU")
        yield RecipeLine("quantization_method", "bnb")
        yield RecipeLine("quantization_type", "nf4")
        yield RecipeLine("double_quantization", True)


_NEEDED = (
    Setting("MODEL", "meta-llama/Llama-3.1-8B-Instruct", "the repository or folder of the model"),
    Setting("DATASET", "alpaca_en_demo", "the name of the data set in dataset_info.json"),
    Setting("DATASET_DIR", "LLaMA-Factory/data", "the folder with dataset_info.json"),
    Setting("TEMPLATE", "llama3", "the chat template of the model"),
    Setting("OUTPUT", "saves/first", "the folder for what is trained"),
)
_HEAD = (
    "Learning rate, epochs and saving are yours: add them here or as key=value on the command line.",
    "Other versions of LLaMA-Factory may name their options differently.",
)


def program(order: Order) -> list[Argument]:
    """What each rank runs."""
    return [
        Argument(("-m", "llamafactory.launcher", "llamafactory.yaml"), "LLaMA-Factory's own training program"),
        Argument(("model_name_or_path=$MODEL",), "what is trained", variables=True),
        Argument(("dataset=$DATASET", "dataset_dir=$DATASET_DIR"), "on what", variables=True),
        Argument(("template=$TEMPLATE",), "how chats are written out", variables=True),
        Argument(("output_dir=$OUTPUT",), "where to", variables=True),
        *own_options(order.script_arguments),
    ]


def files(plan: Plan, order: Order) -> Sequence[File]:
    """``llamafactory.yaml`` and the script that starts it."""
    name = f"LLaMA-Factory {VERSION}"
    text = recipe(plan, name, _HEAD, entries(plan))
    return with_script(plan, "llamafactory", name, text, _NEEDED, program(order))
