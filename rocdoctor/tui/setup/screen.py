"""The set-up plan: steps with their state, the commands of the selected one, its verification in place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rocdoctor.host.base import Host
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import one_line
from rocdoctor.repair.setup.plan import GOALS, Goal, SetupPlan, Step
from rocdoctor.service.setup_script import discretion, made_for_root, setup_script
from rocdoctor.tui.background import Background
from rocdoctor.tui.draw.lines import cut
from rocdoctor.tui.draw.links import linked
from rocdoctor.tui.look import Look, plan_of_today
from rocdoctor.tui.page import Page
from rocdoctor.tui.session import same_evidence
from rocdoctor.tui.setup.step_verify import Verified, program_of, verify_step
from rocdoctor.tui.style import STATE_STYLE
from rocdoctor.tui.verify import VerifyProgress, torch_words
from rocdoctor.tui.widgets.flow import FlowText, StillScroll
from rocdoctor.tui.widgets.options import SearchedOptions
from rocdoctor.tui.write_files import NewFile, ask_and_store

_SCRIPT = "rocdoctor-setup.sh"
_LABEL = 9  # cells before the words of a detail
_BEGINS = regex(r" +(?:[a-z]+ {2,})?")  # what stands before the words of a line: blanks, and its label if it has one


class SetupPage(Page):
    """Steps from here to a machine that trains."""

    AREA = "setup"
    ROOMY: ClassVar[Mapping[str, int]] = {"wide": 130}  # the step stands beside the list
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "goal", "Goal"),
        Binding("c", "copy", "Copy", tooltip="copy the commands of the selected step"),
        Binding("v", "verify", "Verify"),
        Binding("w", "write", "Write", tooltip="write the steps as a script to review; asks where"),
        Binding("n", "next", "Next", show=False),
        Binding("x", "cancel", "Cancel", show=False),
    ]
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("g", "the next goal: PyTorch, ROCm, containers, a cluster's node"),
        ("c", "copy the commands of the selected step"),
        ("v", "verify the selected step here"),
        ("w", "write the steps as a script, as setup --script does; asks where"),
        ("x", "cancel a verification"),
        ("n", "the step that is next"),
    )
    CSS = """
    SetupPage #setup-head { height: auto; padding: 0 1; }
    SetupPage #setup-parts { height: 1fr; layout: vertical; }
    SetupPage #setup-list { height: 40%; border: none; border-bottom: solid $panel; text-wrap: nowrap;
        text-overflow: ellipsis; }
    SetupPage #setup-detail { height: 1fr; padding: 0 1; }
    SetupPage.wide #setup-parts { layout: horizontal; }
    SetupPage.wide #setup-list { width: 45%; height: 1fr; border-bottom: none; border-right: solid $panel; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.goal: Goal = "pytorch"
        self.plan: SetupPlan | None = None
        self._host: Host | None = None
        self._judged: Diagnosis | None = None
        self._shown: str | None = None  # the step that is told of
        self._work: Background[SetupPlan] | None = None
        self._verified: dict[str, Text] = {}
        self._verifying: Background[Verified] | None = None
        self._progress = VerifyProgress()

    def body(self) -> ComposeResult:
        """What to do next, the list, the selected step."""
        yield FlowText(id="setup-head")
        with Container(id="setup-parts"):
            yield SearchedOptions(id="setup-list")
            with StillScroll(id="setup-detail"):
                yield FlowText(id="setup-step")

    def show(self, look: Look) -> None:
        """Make the plan anew where the diagnosis is another one."""
        host = self.rocdoctor.host
        if self._host is not None and not same_evidence(self._host, host):
            self._forget()
        self._host = host
        if look.diagnosis is None:
            self.query_one("#setup-head", FlowText).set(lambda width: Text("Looking ..."))
        elif look.diagnosis is not self._judged:
            self._verified = {}
            self._judged = look.diagnosis
            if self.goal == "pytorch" and look.setup is not None:
                if self._work is not None:  # the plan of a look before this one
                    self._work.cancel()
                self._made(look.setup)
            else:
                self._make(look.diagnosis)

    def _forget(self) -> None:
        """Nothing of another machine stays."""
        for work in (self._work, self._verifying):
            if work is not None:
                work.cancel()
        self._progress.cancel()
        self.plan, self._judged, self._verified, self._shown = None, None, {}, None
        self.query_one("#setup-list", OptionList).clear_options()
        self.query_one("#setup-step", FlowText).set(lambda width: Text())

    def _make(self, diagnosis: Diagnosis) -> None:
        if self._work is not None:
            self._work.cancel()
        goal = self.goal
        if self.plan is None:
            self.query_one("#setup-head", FlowText).set(lambda width: Text("Working out the steps ..."))

        self._work = Background(self.app, lambda task: plan_of_today(diagnosis, goal), self._made)

    def _made(self, plan: SetupPlan) -> None:
        steps = self.query_one("#setup-list", OptionList)
        before = self.selected.id if self.selected is not None else None
        self.plan = plan
        self.query_one("#setup-head", FlowText).set(partial(_head, plan))
        steps.clear_options()
        steps.add_options([Option(_row(plan, step), id=step.id) for step in plan.steps])
        self.refresh_bindings()
        ids = [step.id for step in plan.steps]
        if before in ids:
            steps.highlighted = ids.index(before)
        else:
            self.action_next()
        self._show_step()

    @property
    def selected(self) -> Step | None:
        """The step under the cursor."""
        at = self.query_one("#setup-list", OptionList).highlighted
        return self.plan.steps[at] if self.plan is not None and at is not None and at < len(self.plan.steps) else None

    def on_option_list_option_highlighted(self) -> None:
        """Show the step."""
        self._show_step()

    def _show_step(self) -> None:
        plan, step = self.plan, self.selected
        flow = self.query_one("#setup-step", FlowText)
        if plan is None or step is None:
            flow.set(lambda width: Text("No step is known for this machine."))
            return
        flow.set(partial(_detail, plan, step, self._verified.get(step.id), self._sudo))
        if step.id != self._shown:  # else somebody may be reading further down
            self._shown = step.id
            self.query_one("#setup-detail", StillScroll).scroll_home(animate=False)

    def action_goal(self) -> None:
        """The next goal."""
        self.goal = GOALS[(GOALS.index(self.goal) + 1) % len(GOALS)]
        if self._judged is not None:
            self._make(self._judged)

    def action_next(self) -> None:
        """Go to the step that is next."""
        if self.plan is not None and self.plan.next is not None:
            self.query_one("#setup-list", OptionList).highlighted = self.plan.steps.index(self.plan.next)

    def action_verify(self) -> None:
        """Look at the machine anew, and say how the selected step stands there."""
        step, goal = self.selected, self.goal
        if step is None:
            return
        if self._verifying is not None and self._verifying.running:
            self.notify("a verification is running; x cancels it")
            return
        self._verified[step.id] = verifying(step)
        self._show_step()
        progress = self._progress = VerifyProgress()
        fresh = self.rocdoctor.again_host

        def done(found: Verified) -> None:
            self._verified[step.id] = outcome(step, found)
            if found.plan is not None and goal == self.goal:
                self._made(found.plan)
            self._show_step()

        def failed(error: Exception) -> None:
            done(Verified(problem=f"{type(error).__name__}: {error}"))

        self._verifying = Background(self.app, lambda task: verify_step(step, goal, fresh, progress), done, failed)

    def action_cancel(self) -> None:
        """End the verification that runs."""
        if self._verifying is not None and self._verifying.running:
            self._verifying.cancel()
            self._progress.cancel()
            self._verified = {}
            self._show_step()
            self.notify("cancelled")

    def action_copy(self) -> None:
        """The commands of the selected step, to the clipboard."""
        step = self.selected
        if step is None or not step.actions:
            self.notify("this step has no commands")
            return
        from rocdoctor.repair.setup.command_lines import typed

        self.rocdoctor.copy("\n".join(typed(step.actions, self._sudo)), f"the commands of: {step.title}")

    @property
    def _sudo(self) -> bool:
        """Whether ``sudo`` stands before commands: unless they are typed by root on the machine that was judged."""
        return self._judged is None or not made_for_root(self._judged)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A plan without steps makes no script."""
        return action != "write" or (self.plan is not None and bool(self.plan.steps))

    def action_write(self) -> None:
        """Ask where, and write the script of the whole plan, of this goal."""
        plan, judged, host = self.plan, self._judged, self.rocdoctor.host
        if plan is None or judged is None:
            return

        def text() -> str:
            return setup_script(plan.discreetly(discretion(host)), judged, host)

        new = NewFile(_SCRIPT, text, executable=True, over=True, then="read it, then run it with bash")
        ask_and_store(self.app, "write the script", new)


def _head(plan: SetupPlan, width: int) -> Text:
    from rocdoctor.repair.setup.words import GOAL_WORDS, headline
    from rocdoctor.report.text import wrap

    said = headline(plan)
    text = Text("\n".join(wrap(said.text, width, "")), style="bold")
    text.append(f"\ngoal: {GOAL_WORDS[plan.goal]} (g changes it)", style="not bold dim")
    return text


def _row(plan: SetupPlan, step: Step) -> Text:
    from rocdoctor.repair.setup.words import number, state_words

    text = Text(f"{number(plan, step):>2} ", no_wrap=True, overflow="ellipsis")
    text.append(f"{state_words(plan, step):<8}", style=STATE_STYLE.get(step.state, ""))
    text.append(one_line(step.title))
    return text


def behind_labels(line: str, width: int) -> list[str]:
    """A line in parts that fit; a word that no line holds begins and goes on under the words beside the labels."""
    if cell_len(line) <= width:
        return [line]
    begins = _BEGINS.match(line)
    indent = " " * min(begins.end() if begins is not None else _LABEL, width // 2)
    return cut(line if line.startswith(" ") else indent + line, width, indent)


def _detail(plan: SetupPlan, step: Step, verified: Text | None, sudo: bool, width: int) -> Text:
    from rocdoctor.report.setup.setup_document import step_blocks
    from rocdoctor.report.text import lines, wrap

    text = Text()
    if verified is not None:
        text.append_text(verified)
        text.append("\n\n")
    blocks = step_blocks(plan, step, sudo=sudo, verbose=True, whole=True)
    text.append("\n".join(part for line in lines(blocks, width) for part in behind_labels(line, width)))
    for note in plan.notes:
        text.append("\n\n" + "\n".join(wrap(f"note: {one_line(note)}", width, "", "      ")))
    return linked(text)


def verifying(step: Step) -> Text:
    """What stands there while a verification runs."""
    text = Text("Verifying: asking the machine again (x cancels) ...", style="italic")
    if step.verify is not None and program_of(step) and (words := torch_words(step.verify.command)):
        text.append(f"\n{words}")
    return text


def outcome(step: Step, found: Verified) -> Text:
    """What a verification came to, in words."""
    from rocdoctor.repair.setup.words import state_words
    from rocdoctor.tui.draw.verification import output_text

    if found.problem or found.plan is None:
        return Text(f"Could not verify: {one_line(found.problem)}", style=STATE_STYLE["unknown"])
    if found.step is None:
        text = Text("Done: the plan no longer needs this step.", style=STATE_STYLE["done"])
    elif found.step.state == "done":
        text = Text("Done: verified on the machine.", style=STATE_STYLE["done"])
    else:
        words = f"Not done yet: {state_words(found.plan, found.step)}. {one_line(found.step.why)}"
        text = Text(words, style=STATE_STYLE[found.step.state])
        later = {"new-login": "at the next login", "reboot": "after a restart"}.get(step.effective)
        if later:
            text.append(f" It takes effect {later}, and cannot be verified before.", style="not bold")
    if found.output is not None and step.verify is not None:
        text.append_text(output_text(step.verify.command, found.output))
    return text
