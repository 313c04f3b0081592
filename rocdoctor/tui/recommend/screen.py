"""A training configuration for this machine: a form, the plan with its reasons, and the files of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from rocdoctor.host.base import Host
from rocdoctor.judging.gpu_standing import Unfit
from rocdoctor.model.printable import one_line
from rocdoctor.tui.background import Background
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import Page
from rocdoctor.tui.recommend.drawing import plan_text
from rocdoctor.tui.recommend.plan_files import PlanFiles
from rocdoctor.tui.recommend.plan_form import PlanForm
from rocdoctor.tui.recommend.plan_form_values import Form, beginning, changed, command, counter, models, plan
from rocdoctor.tui.session import same_evidence
from rocdoctor.tui.widgets.flow import FlowText, StillScroll
from rocdoctor.tui.widgets.painted import Painted
from rocdoctor.tui.widgets.rows import Rows
from rocdoctor.tui.write_files import FOLDER

if TYPE_CHECKING:
    from rocdoctor.model.facts import Machine
    from rocdoctor.model.finding import Diagnosis
    from rocdoctor.train.recommend.plan import Recommendation

View = Literal["form", "plan", "files"]


class RecommendPage(Page):
    """Form, plan and files: below 130 columns one of them, else the form beside one of the others."""

    AREA = "recommend"
    ROOMY: ClassVar[Mapping[str, int]] = {"wide": 130}  # the form stands beside the plan
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "plan", "Plan", tooltip="make the plan; from the plan, go on to its files"),
        Binding("f", "files", "Files", tooltip="the files of the plan"),
        Binding("m", "estimate", "Memory", tooltip="the plan's memory by part, its speed, and why"),
        Binding("w", "write", "Write", tooltip="write the files; asks for a folder"),
        Binding("c", "copy", "Copy", tooltip="copy the command line for the same plan"),
        Binding("l", "lint", "Lint", show=False, tooltip="check the plan's files as rocdoctor lint does"),
        Binding("L", "lint_path", "Lint a file", show=False, tooltip="check a file or a folder of your own"),
        Binding("slash", "search", "Search", show=False, tooltip="search the models"),
        Binding("a", "apply", "Apply", show=False, tooltip="apply the smallest change that makes a plan fit"),
        Binding("e", "edit", "Form", show=False, tooltip="back to the form"),
        Binding("up", "app.focus_previous", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("escape", "back", "Back", show=False),
    ]
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("tab, arrows", "from field to field; left and right change a choice"),
        ("/", "search the models"),
        ("e", "back to the form"),
        ("l, L", "check the plan's files, or a file that you name, as rocdoctor lint does"),
        ("a", "apply the smallest change where nothing fits"),
        ("space", "choose a target of the files, or leave it out"),
        ("escape", "stop the search; otherwise one step back"),
    )
    CSS = """
    RecommendPage #form-box { width: 1fr; }
    RecommendPage PlanForm { height: 1fr; }
    RecommendPage #state { height: auto; min-height: 3; max-height: 5; padding: 0 1; background: $panel; }
    RecommendPage #plan-box, RecommendPage #files-box { width: 1fr; }
    RecommendPage #plan { height: auto; padding: 0 1; }
    RecommendPage.wide #form-box { width: 50; border-right: solid $accent; }
    RecommendPage.wide PlanForm { layout: vertical; }
    RecommendPage.wide #state { height: 5; }
    RecommendPage.wide #fields { width: 100%; height: 13; }
    RecommendPage.wide #model-box { width: 100%; height: 1fr; border-left: none; border-top: solid $panel; }
    """
    AUTO_FOCUS = "#models"
    OWN_KEYS = True

    def __init__(self) -> None:
        super().__init__()
        self._host: Host | None = None
        self._machine: Machine | None = None
        self._work: Background[Any] | None = None
        self._answer: Recommendation | None = None
        self._of = Form()
        self._asked = Form()  # of the last plan that was started
        self._outdated = False
        self._diagnosis: Diagnosis | None = None
        self.view: View = "form"

    def body(self) -> ComposeResult:
        """All three; which are seen is a matter of classes."""
        with Horizontal():
            with Vertical(id="form-box"):
                yield PlanForm()
                yield Painted(Text(), id="state", markup=False)
            with StillScroll(id="plan-box"):
                yield FlowText(id="plan")
            yield PlanFiles(id="files-box")

    @property
    def _form(self) -> PlanForm:
        return self.query_one(PlanForm)

    @property
    def _files(self) -> PlanFiles:
        return self.query_one(PlanFiles)

    def show(self, look: Look) -> None:
        """Begin with a workload that fits this machine, once it has answered."""
        host = self.rocdoctor.host
        if self._host is not None and not same_evidence(self._host, host):
            self._forget()
        self._host = host
        machine = look.diagnosis.machine if look.diagnosis is not None else None
        if look.busy or machine is None:
            if self._answer is None:
                self._say("Waiting for the machine's answers.")
            return
        before, self._machine, self._diagnosis = self._machine, machine, look.diagnosis
        if before is None:
            self._begin(machine)
        elif before is not machine:  # it was looked at again
            self._outdated = True
            self._tell_state()

    @property
    def filling(self) -> bool:
        """Whether the list of models is being read."""
        return not self._form.knows_models and self._searching

    def _forget(self) -> None:
        if self._work is not None:
            self._work.cancel()
        self._files.forget()
        self._machine, self._answer, self._outdated = None, None, False
        self.query_one("#plan", FlowText).set(lambda width: Text())
        self._go("form")

    def _begin(self, machine: Machine) -> None:
        before = self._form.form()

        def work(task: Background[Any]) -> tuple[Form, Recommendation | None]:
            known = models()
            if not self._form.knows_models:
                task.tell(self._form.set_models, known)
            return beginning(
                machine, counter(task, self._say_progress, "looking for a workload that fits this machine")
            )

        def done(result: tuple[Form, Recommendation | None]) -> None:
            form, answer = result
            if self._form.form() == before:  # else somebody has begun to fill it in
                self._form.fill(form)
            if answer is None:
                self._say("Choose a model and press Enter.")
            else:
                self._planned(form, machine, answer)

        self._start(before, work, done)

    def _start(self, form: Form, work: Callable[[Background[Any]], Any], done: Callable[[Any], object]) -> None:
        if self._work is not None:
            self._work.cancel()
        self._asked = form
        self._work = Background(self.app, work, done=done, failed=self._failed)

    def _failed(self, error: Exception) -> None:
        self._say(one_line(str(error)) or type(error).__name__)

    def _say(self, words: str) -> None:
        fixed = self.has_class("wide")  # the room of these words there
        self.query_one("#state", Painted).update(Text(words), layout=not fixed)

    def _say_progress(self, words: str) -> None:
        """Words that the least height has room for: the form stays where it is."""
        self.query_one("#state", Painted).update(Text(words), layout=False)

    def on_plan_form_changed(self) -> None:
        """What runs for other values is no longer wanted; nothing starts before Enter."""
        if self._form.form() == self._asked != self._of:  # told after Enter: it runs, or has said why not
            return
        if self._searching and self._work is not None:
            self._work.cancel()
        self._tell_state()

    def _tell_state(self) -> None:
        if self._answer is None:
            self._say("Press Enter for the plan.")
        elif self._form.form() != self._of:
            self._say("The form has changed: Enter makes the new plan.")
        elif self._outdated:
            self._say("The machine was looked at again: Enter makes the plan again.")
        else:
            from rocdoctor.report.plan.recommend_document import headline

            unfit = self._unfit(self._answer)
            it = "it" if unfit and len(unfit[0].gpus) == 1 else "them"
            ahead = f"{unfit[0].short}; this plan includes {it} anyway. " if unfit else ""
            self._say(ahead + headline(self._answer) + ("" if self.has_class("wide") else " Enter shows why."))

    async def on_plan_form_submitted(self) -> None:
        """Enter in a field."""
        await self.action_plan()

    async def action_plan(self) -> None:
        """Plan, or go on to what is planned already."""
        if isinstance(self.focused, Rows) and self.focused.id == "targets":
            self._files.action_pick()
        elif self.view == "plan" and not self._form.has_focus_within:
            await self.action_files()
        elif self._planned_already and not self._searching:
            self._go("plan")
        elif self.view != "files" or self._form.has_focus_within:
            self._plan(self._form.form())

    @property
    def _planned_already(self) -> bool:
        return self._answer is not None and not self._outdated and self._form.form() == self._of

    @property
    def _searching(self) -> bool:
        return self._work is not None and self._work.running

    def _plan(self, form: Form) -> None:
        machine = self._machine

        def work(task: Background[Any]) -> Recommendation:
            return plan(form, machine, counter(task, self._say_progress, "comparing configurations"))

        asked_at = self.focused

        def done(answer: Recommendation) -> None:
            self._planned(form, machine, answer)
            if self.focused is asked_at:  # else somebody is about to type
                self._go("plan")

        self._start(form, work, done)

    def _planned(self, form: Form, machine: Machine | None, answer: Recommendation) -> None:
        self._of, self._answer, self._outdated = form, answer, machine is not self._machine
        self._files.of(form, machine, answer)
        source = self._source()
        line = command(form, source) if source != "" else ""
        change = self._change()
        words = f"{answer.needed[1].option} {answer.needed[1].value}" if change is not None else ""
        unfit = [one.counted for one in self._unfit(answer)]
        self.query_one("#plan", FlowText).set(lambda width: plan_text(answer, width, line, words, unfit))
        self._room_for_plan()
        self._tell_state()

    def _room_for_plan(self) -> None:
        """From its top; a scrollbar that it needs is there in the first layout, and not in another one after it."""
        box, plan = self.query_one("#plan-box", StillScroll), self.query_one("#plan", FlowText)
        if box.size and len(str(plan.content).splitlines()) > box.size.height:
            box.show_vertical_scrollbar = box.vertical_scrollbar.display = True
        box.scroll_home(animate=False)

    def _unfit(self, answer: Recommendation) -> tuple[Unfit, ...]:
        """What findings say against GPUs of this machine that the plan uses."""
        if answer.plan is None or self._diagnosis is None or self._of.gpus.strip():
            return ()
        from rocdoctor.service.planning import unfit_for

        return unfit_for(self._diagnosis, answer.plan.fleet)

    def _source(self) -> str | None:
        """The name of the evidence for a command line: None for this machine, empty where no file holds it."""
        host = self.rocdoctor.host
        return None if host.kind == "live" else "" if host.kind == "text" else host.origin

    def _change(self) -> Form | None:
        if self._answer is None or self._answer.plan is not None or len(self._answer.needed) < 2:
            return None
        return changed(self._of, self._answer.needed[1])

    def _go(self, view: View) -> None:
        self._see(view)
        self.query_one({"plan": "#plan-box", "files": "#targets", "form": "#models"}[view]).focus()

    def _see(self, view: View) -> None:
        """Show it. Displays are set one by one: a class of the page would style all its widgets anew."""
        self.view = view
        wide = self.has_class("wide")
        self.query_one("#form-box").display = wide or view == "form"
        self.query_one("#plan-box").display = view == "plan" or (wide and view == "form")
        self._files.display = view == "files"

    def adapt(self) -> None:
        """The form beside the plan where there is room."""
        super().adapt()
        self._see(self.view)

    async def action_files(self) -> None:
        """The files of the plan, made when they are first looked at."""
        if self._answer is None or self._answer.plan is None:
            self.notify("there is no plan to write files of")
            return
        await self._files.build()
        self._go("files")
        self._files.make()

    def action_estimate(self) -> None:
        """What is behind the figures of the plan, to read over it."""
        if self._answer is None or self._answer.plan is None:
            self.notify("there is no plan yet whose memory could be shown")
            return
        from rocdoctor.tui.recommend.plan_estimate import COLUMNS, estimate_text
        from rocdoctor.tui.widgets.reader import Reader

        source = self._source()
        line = command(self._of, source) if source != "" else ""
        text = estimate_text(self._answer.plan, line, min(COLUMNS, self.app.size.width * 98 // 100 - 6))
        self.app.push_screen(Reader("estimate", text))

    def action_lint(self) -> None:
        """What the linter finds in the files of the plan, to read over it."""
        if self._answer is None or self._answer.plan is None:
            self.notify("there is no plan yet whose files could be checked")
            return
        from rocdoctor.tui.linting import lint_files

        lint_files(self.rocdoctor, self._files.maker(), here=not self._of.gpus.strip())

    def action_lint_path(self) -> None:
        """The same of a file or a folder that somebody names."""
        from rocdoctor.tui.linting import lint_a_path

        lint_a_path(self.rocdoctor)

    def action_write(self) -> None:
        """Ask for a folder, and write."""
        self._files.write()

    def action_copy(self) -> None:
        """The command line of what is seen."""
        source = self._source()
        if self._answer is None or source == "":
            self.notify("no command line makes this plan" if self._answer else "there is no plan yet")
            return
        targets = self._files.targets if self.view == "files" else ()
        line = command(self._of, source, targets, FOLDER)
        self.rocdoctor.copy(line, one_line(line))

    def action_search(self) -> None:
        """Type words of a model's name."""
        self.action_edit()
        self._form.query_one("#search").focus()

    def action_edit(self) -> None:
        """The form."""
        self._go("form")

    def action_apply(self) -> None:
        """Make the smallest change, and plan again."""
        form = self._change()
        if form is None:
            self.notify("there is no change to apply")
        else:
            self._form.fill(form)
            self._plan(form)

    def action_back(self) -> None:
        """One step back: stop, out of a text, from the files to the plan, to the form, from the screen."""
        if self._work is not None and self._work.running:
            self._work.cancel()
            self._say("Stopped. Enter plans.")
        elif self._files.busy:
            self._files.stop()
        elif isinstance(self.focused, Input):
            self._form.query_one("#models").focus()
        elif self.view == "files":
            self._go("plan")
        elif self.view == "plan" and not self.has_class("wide"):
            self._go("form")
        else:
            self.app.run_worker(self.rocdoctor.action_area("overview"))
