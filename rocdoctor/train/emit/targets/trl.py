"""The configuration of TRL 1.16.0's supervised fine-tuning, and the script that starts it.

Keys are the fields of ``ModelConfig`` (trl/trainer/model_config.py), ``SFTConfig`` (sft_config.py, base_config.py) and
transformers' ``TrainingArguments``, which ``trl/scripts/sft.py`` reads from one file; read 2026-11-24.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocdoctor.train.emit.files import File
from rocdoctor.train.emit.launcher import Argument, own_options
from rocdoctor.train.emit.recipe import RecipeLine, recipe, with_script
from rocdoctor.train.emit.script import because
from rocdoctor.train.emit.targets import Order, trainer
from rocdoctor.train.recommend.plan import Plan, Setting

VERSION = "1.16.0"
FRAMEWORKS = trainer.FRAMEWORKS
TRANSFORMERS = True

refuses = trainer.refuses


def entries(plan: Plan) -> Iterator[RecipeLine]:
    """Every value that the estimate rests on; those of the Trainer first."""
    work = plan.work
    for key, value, reason in trainer.arguments(plan):
        if key == "use_liger_kernel" and not value:
            reason = (
                "TRL computes the loss in pieces: it needs less memory than in the plan, which has all logits at once"
            )
        yield RecipeLine(key, value, reason)
    if work.framework == "fsdp2":
        yield RecipeLine("gradient_checkpointing", False, "on unless set; fsdp_config says what is computed again")
    kind, reason = trainer.weights_type(work)
    yield RecipeLine("dtype", kind, reason)
    kernel = "a kernel that keeps no scores" if work.flash else "scores are kept"
    yield RecipeLine("attn_implementation", "sdpa" if work.flash else "eager", because(plan, "attention", kernel))
    yield RecipeLine("max_length", work.seq, f"activations were estimated for {work.seq} tokens per sequence")
    yield RecipeLine("packing", True, "every sequence has that length: padding would be computed for nothing")
    yield RecipeLine("packing_strategy", "wrapped", "'bfd' packs without padding for flash-attention packages only")
    if work.method == "full":
        return
    yield RecipeLine("use_peft", True, because(plan, "method", "adapters are trained"))
    yield RecipeLine("lora_r", work.lora_rank, "the rank that was estimated")
    yield RecipeLine("lora_alpha", 2 * work.lora_rank, "it scales what adapters add and needs no memory")
    yield RecipeLine("lora_target_modules", ["all-linear"], "every linear layer has adapters")
    if work.method == "qlora":
        yield RecipeLine("load_in_4bit", True, "4-bit weights as estimated, a whole copy on each GPU")
        yield RecipeLine("bnb_4bit_quant_type", "nf4")
        yield RecipeLine("use_bnb_nested_quant", True)


_NEEDED = (
    Setting("MODEL", "meta-llama/Llama-3.1-8B", "the repository or folder of the model"),
    Setting("DATASET", "trl-lib/Capybara", "the repository or folder of the data set"),
)
_HEAD = (
    "Learning rate, steps, saving and the data set's columns are yours: add them here or on the command line.",
    "Other versions of TRL may name their options differently.",
)


def program(order: Order) -> list[Argument]:
    """What each rank runs."""
    return [
        Argument(("-m", "trl.scripts.sft", "--config", "trl.yaml"), "TRL's own training program"),
        Argument(("--model_name_or_path", "$MODEL"), "what is trained", variables=True),
        Argument(("--dataset_name", "$DATASET"), "on what", variables=True),
        *own_options(order.script_arguments),
    ]


def files(plan: Plan, order: Order) -> Sequence[File]:
    """``trl.yaml`` and the script that starts it."""
    name = f"TRL {VERSION}"
    return with_script(plan, "trl", name, recipe(plan, name, _HEAD, entries(plan)), _NEEDED, program(order))
