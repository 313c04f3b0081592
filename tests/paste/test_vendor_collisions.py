"""Numbers that several vendors give to their parts: whose it is is said by the words beside it."""

from __future__ import annotations

from rocdoctor.knowledge.gpus.cards_without_profile import older_card
from rocdoctor.knowledge.lookup import profiles_by_name
from rocdoctor.paste.clean_text import clean
from rocdoctor.paste.named_cards import cards
from rocdoctor.paste.word_index import WordIndex
from tests.message_kit import finding_of, words_of

# text: vendors of what it names
NAMES = {
    "GPU: NVIDIA GeForce GT 640M": ["nvidia"],
    "GPU: GTX 660M": ["nvidia"],
    "gpu: GT 740M 2GB": ["nvidia"],
    "Graphics: NVIDIA GeForce GT 750M 2048MB (PCIe)": ["nvidia"],
    "my GTX 680M": ["nvidia"],
    "the GeForce GTX 760M of a laptop": ["nvidia"],
    "GeForce GTX 780M": ["nvidia"],
    "NVIDIA 860M": ["nvidia"],
    "GeForce GTX 880M, no ROCm": ["nvidia"],
    "NVIDIA GeForce 610M": ["nvidia"],
    "NVIDIA GeForce 820M": ["nvidia"],
    "NVIDIA GeForce 940MX": ["nvidia"],
    "Quadro 770M": ["nvidia"],
    "my Radeon 780M crashes": ["amd"],
    "GPU: Radeon 860M": ["amd"],
    "gpu: 780M (gfx1103)": ["amd"],
    "Ryzen 7 7840HS with Radeon 780M, and an RTX 4060": ["amd", "nvidia"],
    "laptop with NVIDIA GT 750M and AMD Radeon 780M": ["nvidia", "amd"],
    "gpu memory: 512M shared, ROCm": [],
    "a gpu for my 125M model with ROCm": [],
    "GTX 970 beside an AMD Radeon HD 7970": ["nvidia", "amd"],
    "GPU: Intel HD 4600 beside a Radeon RX 580": ["amd"],
    "RX 580 and GTX 580": ["amd", "nvidia"],
    "my GTX 580": ["nvidia"],
    "GTX 280": ["nvidia"],
    "AMD Radeon R9 280": ["amd"],
    "NVIDIA MX 150": ["nvidia"],
    "NVIDIA GeForce MX150": ["nvidia"],
    "AMD Radeon Pro W5500": ["amd"],
    "W5500 module of a network, and a gpu": [],
    "NVIDIA Quadro K5000": ["nvidia"],
    "2x A10-7850K APU, no gpu card": [],
    "4x A10 in the cloud": ["nvidia"],
    "mi 100 % de gpu": [],
    "AMD Instinct MI100": ["amd"],
    "8x L40": ["nvidia"],
    "GPU: 8060S, ROCm 7": ["amd"],
    "GeForce 7900 GT": [],
    "AMD Radeon RX 7900 GRE": ["amd"],
    "part VII of the gpu book": [],
    "AMD Radeon VII": ["amd"],
}


def test_the_words_beside_a_number_say_whose_it_is() -> None:
    wrong = {}
    for text, expected in NAMES.items():
        cleaned = clean(text)
        found = [one.vendor for one in cards(cleaned, set(), WordIndex(cleaned))]
        if found != expected:
            wrong[text] = found
    assert not wrong


def test_profiles_and_older_cards_obey_the_vendor_that_the_name_says() -> None:
    for name in ("NVIDIA GeForce GTX 680M", "GeForce GTX 780M", "GT 740M", "NVIDIA GeForce GTX 880M", "Quadro 860M"):
        assert profiles_by_name(name) == (), name
    for name in ("AMD Radeon 780M", "Radeon(TM) 780M Graphics", "780M", "NVIDIA GTX 780M and AMD Radeon 780M"):
        assert [one.id for one in profiles_by_name(name)] == ["radeon-780m"], name
    assert older_card("AMD A10") is None and older_card("NVIDIA A10") is not None
    # Two generations have a TITAN X; the word GTX tells them apart.
    assert older_card("NVIDIA TITAN X") is None
    assert (card := older_card("NVIDIA GeForce GTX TITAN X")) is not None and card.compute_capability == "5.2"
    assert older_card("NVIDIA V340") is None and older_card("Radeon Pro V340") is not None


def test_a_geforce_is_not_told_that_the_machine_has_an_amd_gpu() -> None:
    text = "CUDA driver version is insufficient for CUDA runtime version\nGraphics: NVIDIA GeForce {} 2048MB"
    for name in ("GT 640M", "GTX 660M", "GTX 680M", "GT 740M", "GT 750M", "GTX 760M", "GTX 780M", "GTX 860M"):
        said = words_of(finding_of("torch-build-message", text.format(name)))
        assert "AMD" not in said, name
