"""Whose state a text tells: that of the machine, or that of a recipe, a release note or code."""

from __future__ import annotations

import pytest

from rocdoctor.knowledge.messages.program_errors import message_signatures
from rocdoctor.parsers.logs.message_match import find_messages


def role(text: str, kind: str) -> str:
    return next(one.role for one in find_messages(message_signatures(), text) if one.kind == kind)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("* Fixed: training could hang at the first all_reduce", "collective-hang"),
        ("Release 2 fixes: a rare crash, CUDA out of memory in the tests", "out-of-memory-words"),
        ("For multi-GPU hangs try NCCL_P2P_DISABLE=1.", "collective-hang"),
        ("**Q: I get `CUDA error: out of memory`.** A: reduce the batch size.", "out-of-memory"),
        ('if "CUDA error: out of memory" in str(error):', "out-of-memory"),
        ('hides `"CUDA error: out of memory" in str(e)`', "out-of-memory"),
        ('with pytest.raises(RuntimeError, match="invalid device ordinal"):', "invalid-ordinal"),
        ("If you are running out of memory, use a smaller CUDA batch.", "out-of-memory-words"),
        ("In case a CUDA error: out of memory is raised, use less.", "out-of-memory"),
        ("If CUDA error: out of memory occurs, use less.", "out-of-memory"),
        ("If rocprobe prints CUDA error: out of memory then end the others.", "out-of-memory"),
        ("I have read that CUDA error: out of memory comes early there.", "out-of-memory"),
        ("+        # CUDA error: out of memory is what the driver gives", "out-of-memory"),
        ("UserWarning: simulated failure: CUDA error: out of memory", "out-of-memory"),
        ("caught 'CUDA error: out of memory' (mocked)", "out-of-memory"),
        ("- #77 fixed a leak that led to CUDA error: out of memory", "out-of-memory"),
        ("The whole forum says CUDA error: out of memory is what to await.", "out-of-memory"),
        ("'CUDA error: out of memory' is quite normal at that size.", "out-of-memory"),
        ('If a job is too big, the log says "CUDA error: out of memory".', "out-of-memory"),
        ('When the log says "CUDA error: out of memory", restart the service.', "out-of-memory"),
        ('if "CUDA error: out of memory" appears, lower the batch', "out-of-memory"),
        ("journalctl -u train | grep -c 'CUDA error: out of memory'", "out-of-memory"),
        ('for p in "CUDA error: out of memory" "Xid"; do', "out-of-memory"),
        ("The row of CUDA error: out of memory lacks a link.", "out-of-memory"),
        ("Is catching CUDA error: out of memory safe?", "out-of-memory"),
        ("We had CUDA error: out of memory twice in May, no such error since then.", "out-of-memory"),
        ("There is no CUDA error: out of memory in the log.", "out-of-memory"),
        ("It runs without any kind of CUDA error: out of memory", "out-of-memory"),
        ("I don't see the CUDA error: out of memory here", "out-of-memory"),
        ('The error "CUDA error: out of memory" is fixed in 2.4.', "out-of-memory"),
        ('The line "CUDA error: out of memory" is gone, thanks.', "out-of-memory"),
        ('"CUDA error: out of memory" in the small job is expected and ignored.', "out-of-memory"),
        ("Users who had CUDA error: out of memory in May no longer see it.", "out-of-memory"),
        ("Before this change it ended with CUDA error: out of memory", "out-of-memory"),
        ("Earlier releases printed CUDA error: out of memory there.", "out-of-memory"),
        ("The loader prints CUDA error: out of memory only where the flag is set.", "out-of-memory"),
        ('In a course somebody showed a slide with "CUDA error: out of memory".', "out-of-memory"),
        ("Users of version 1.0 saw CUDA error: out of memory there; 1.1 is fine.", "out-of-memory"),
        ("Release 1.2 made CUDA error: out of memory disappear.", "out-of-memory"),
        ("CUDA error: out of memory\nThis is printed by my unit test.", "out-of-memory"),
        ("之后没有再出现 CUDA error: out of memory 错误", "out-of-memory"),
        ("CUDA error: out of memory 的问题已经解决", "out-of-memory"),
        ('Release notes 2.9: fixed "CUDA error: out of memory" on small cards.', "out-of-memory"),
        ("- [x] handle `CUDA error: out of memory` in the loader", "out-of-memory"),
        ("Warning: this example may raise `RuntimeError: CUDA error: out of memory` here.", "out-of-memory"),
        ('The message "CUDA error: out of memory in a graph" was resolved.', "out-of-memory"),
        ("* loader: raise CUDA error: out of memory early (#7779)", "out-of-memory"),
        ("- CUDA error: out of memory -> use a smaller batch", "out-of-memory"),
        ("CUDA error: out of memory is what the loader prints on a small card.", "out-of-memory"),
        ('"CUDA error: out of memory" now names the device', "out-of-memory"),
        ('printf("device %d: CUDA error: out of memory");', "out-of-memory"),
        ("The test fills it on purpose:\n  CUDA error: out of memory", "out-of-memory"),
        ("So the line\n  CUDA error: out of memory\nwas expected there.", "out-of-memory"),
        ("[ RUN      ] Loader.Fills\nCUDA error: out of memory\n[       OK ] Loader.Fills (3 ms)", "out-of-memory"),
        ('    error("CUDA error: out of memory");', "out-of-memory"),
        ('    EXPECT(test::throws([&] { f(); }, "CUDA error: out of memory"));', "out-of-memory"),
        ("// CHECK-NEXT: CUDA error: out of memory", "out-of-memory"),
        ('    return fmt.Errorf("CUDA error: out of memory")', "out-of-memory"),
        ('    std::cerr << "CUDA error: out of memory";', "out-of-memory"),
        ('   { ERRTAB_ENTRY(E_MEMORY), "CUDA error: out of memory" },', "out-of-memory"),
        ("  x(); // CUDA error: out of memory", "out-of-memory"),
        ("def f(rc): return f'CUDA error: out of memory ({rc})'", "out-of-memory"),
        ('print(f"CUDA error: out of memory on {device}")', "out-of-memory"),
        ('MARKERS = (\n    "CUDA error: out of memory",\n    "Xid",\n)', "out-of-memory"),
        ("The job no longer dies of CUDA error: out of memory here.", "out-of-memory"),
        ("2.4 fixed a regression that led to CUDA error: out of memory.", "out-of-memory"),
        ("Release notes: say CUDA error: out of memory once", "out-of-memory"),
        ("The manual says that CUDA error: out of memory comes early.", "out-of-memory"),
        ("'CUDA error: out of memory' is logged where the card is small.", "out-of-memory"),
        ("I got CUDA error: out of memory until I installed more memory.", "out-of-memory"),
        ('How is it done without "CUDA error: out of memory" there?', "out-of-memory"),
    ],
)
def test_recipes_notes_and_code_are_no_state_of_the_machine(text: str, kind: str) -> None:
    assert role(text, kind) == "advice"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I fixed the wheel, but now all_reduce hangs with NCCL.", "collective-hang"),
        ("I used to get warnings only; since today it is CUDA error: out of memory", "out-of-memory"),
        ("Let me know if you see why. CUDA error: out of memory", "out-of-memory"),
        ("For training I use NCCL and the all_reduce hangs.", "collective-hang"),
        ("I read what people say, and I still get CUDA error: out of memory", "out-of-memory"),
        ("Our users all get CUDA error: out of memory since Monday", "out-of-memory"),
        ("When I run it, CUDA error: out of memory is raised", "out-of-memory"),
        ("If I start it as root it says CUDA error: out of memory", "out-of-memory"),
        ("There is a line CUDA error: out of memory in the log", "out-of-memory"),
        ("Ran without a problem yesterday, today CUDA error: out of memory", "out-of-memory"),
        ("without the flag it says CUDA error: out of memory", "out-of-memory"),
        ("When training starts, torch prints CUDA error: out of memory", "out-of-memory"),
        ("$ journalctl | grep CUDA\nCUDA error: out of memory", "out-of-memory"),
        ("CUDA error: out of memory, and nothing has worked since the update", "out-of-memory"),
        ("an unexpected thing: CUDA error: out of memory", "out-of-memory"),
        ('My "CUDA error: out of memory" is fixed by a restart for an hour only.', "out-of-memory"),
        ('It ends with "CUDA error: out of memory", and all else is fixed.', "out-of-memory"),
        ('I fixed my path, still "CUDA error: out of memory".', "out-of-memory"),
        ("It may raise `CUDA error: out of memory` at any step here.", "out-of-memory"),
        ("The fix for the other problem did not help: CUDA error: out of memory", "out-of-memory"),
        ("As you will see it ends with CUDA error: out of memory", "out-of-memory"),
        ("- CUDA error: out of memory as my colleague has it (#7779)", "out-of-memory"),
        ("CUDA error: out of memory is what torch prints when I start it", "out-of-memory"),
        ("CUDA error: out of memory\n# CONFIG_SWAP is not set", "out-of-memory"),
        ("The job ends with CUDA error: out of memory and no longer sees my RTX 3090.", "out-of-memory"),
        ("nvidia-smi no longer shows the card, torch prints CUDA error: out of memory", "out-of-memory"),
        ("[ RUN      ] Loader.Fills\nCUDA error: out of memory\n[  FAILED  ] Loader.Fills (3 ms)", "out-of-memory"),
        ("ray.exceptions.RayTaskError(RuntimeError('CUDA error: out of memory'))", "out-of-memory"),
        ('time="2026-01-05" level=error msg="CUDA error: out of memory"', "out-of-memory"),
        ('called `Result::unwrap()` on an `Err` value: Msg("CUDA error: out of memory")', "out-of-memory"),
        ("The log says: 'CUDA error: out of memory',", "out-of-memory"),
        ("CUDA error: out of memory did not come until I installed the update.", "out-of-memory"),
    ],
)
def test_a_report_of_a_fault_stays_one(text: str, kind: str) -> None:
    assert role(text, kind) == "now"


def test_a_word_that_is_cut_is_nobody_who_speaks() -> None:
    for filler in (196, 197, 198):  # with 197 the words that are looked at begin with the last letter of OCI
        text = f"daemon: OCI {'x' * filler} CUDA error: out of memory"
        found = [one for one in find_messages(message_signatures(), text) if one.kind == "out-of-memory"]
        assert found and not found[0].narrated
