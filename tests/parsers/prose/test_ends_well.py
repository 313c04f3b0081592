"""Texts that announce a success: what counts as one, and what clouds it."""

from __future__ import annotations

from rocdoctor.parsers.prose.ends_well import announces_success
from tests.text_kit import diagnosed

SUCCESS = (
    "Success story: training on 8x MI300X went well after we raised /dev/shm. No hang in two weeks.",
    "# Strix Halo works with ROCm 7.2\nI removed HSA_OVERRIDE_GFX_VERSION, and a LoRA ran overnight without OOM.",
    "Just wanted to report that vLLM runs great on my R9700 cards.",
    "[Feedback]: Good news, the RX 9060 XT trains at full speed.",
    "The RX 7900 XTX works perfectly with torch 2.9. Without errors so far.",
    "Notes on ComfyUI with an RX 570: I managed to get it to start and run on the card with ROCm. The old errors came "
    "from a wrong wheel. So this is not really a bug report, it may help others.",
    "I was able to build vLLM for gfx1032. It took many crashed builds. More a guide than a question: see below.",
    "This is not an issue. We got llama.cpp running on an MI50 in CPU and in GPU mode, the GPU is four times faster.",
)
CLOUDED = (
    "Success story: training went well. However the second node hangs.",
    "# Strix Halo works with ROCm 7.2\nbut it is slow.",
    "Just wanted to report that vLLM runs, and that the second card fails.",
    "Good news, everyone: is there a fix for the hang?",
    "The RX 7900 XTX works perfectly with torch 2.8. Since the update I see CUDA errors.",
    "It works on the CPU. On the GPU I get OOM.",
    "Good news: it starts.\n```\nRuntimeError: HIP error\n```",
    "Good news. " + "All is well. " * 200,
    "This is not a bug report of the driver. I managed to get ROCm running on the card. It still hangs after an hour.",
    "I managed to get it running on my RX 570, CPU mode only. This is not really a bug report.",
    "We got vLLM running on the MI50. It is not a problem of the network: training is slow.",
    "It's not a bug in torch, I think. I managed to get the card running until the update of last week.",
    "I managed to run it on the card. This is not a bug report, can somebody tell me why the loss is NaN?",
)


def test_announced_and_not_clouded() -> None:
    assert [one for one in SUCCESS if not announces_success(one)] == []
    assert [one[:60] for one in CLOUDED if announces_success(one)] == []


def test_a_success_story_blames_nothing_and_a_clouded_one_does() -> None:
    title, story = (
        "# Strix Halo works with ROCm 7.2\n",
        (
            "After months of HSA_OVERRIDE_GFX_VERSION hacks I removed all of them: gfx1151 is recognised, and training "
            "a LoRA ran overnight without OOM."
        ),
    )
    assert diagnosed(story).causes != () and diagnosed(title + story).causes == ()
    told = "Success story? Training on my MI210 ran out of memory after an hour."
    assert [one.cause for one in diagnosed(told).causes] == ["out-of-memory"]
