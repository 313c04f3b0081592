"""The form of the plan screen: what is to be trained, on what, and the list of known models."""

from __future__ import annotations

from typing import Any

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.events import DescendantFocus
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from rocdoctor.model.printable import one_line
from rocdoctor.tui.recommend.choice import ChoiceField
from rocdoctor.tui.recommend.drawing import model_row
from rocdoctor.tui.recommend.plan_form_values import FRAMEWORKS, GOALS, METHODS, Form, known_models
from rocdoctor.tui.widgets.painted import Painted
from rocdoctor.tui.widgets.rows import Rows

_HINTS = {
    "models": "Up and down choose a model. / searches, and also takes a config.json or sizes (layers=32,hidden=4096).",
    "search": "Words of a model's name; or a config.json, or sizes. Enter returns to the list.",
    "seq": "Tokens of a sequence. Empty: 4096 to pretrain, else 2048.",
    "batch": "Sequences of one step over all GPUs. Empty: the plan chooses.",
    "gpus": "Empty: the machine that these screens show. Or a described node, such as 8xMI300X or 2x RTX 4090.",
    "nodes": "How many such nodes. Empty: one.",
    "script": "Your training program, as the written files start it.",
}


class PlanForm(Container):
    """Fields on one side, models on the other."""

    DEFAULT_CSS = """
    PlanForm { layout: horizontal; }
    PlanForm #fields { width: 1fr; }
    PlanForm #model-box { width: 32; border-left: solid $panel; }
    PlanForm #pairs, PlanForm #values { height: auto; }
    PlanForm #labels { width: 11; padding: 0 0 0 1; }
    PlanForm #values Input, PlanForm #search-line Input { height: 1; border: none; padding: 0; width: 1fr;
        background: $boost; }
    PlanForm #values Input:focus, PlanForm #search-line Input:focus { background: $accent 30%; text-style: underline; }
    PlanForm ChoiceField { width: 1fr; height: 1; }
    PlanForm ChoiceField:focus { text-style: reverse; }
    PlanForm #model { width: 1fr; height: 1; }
    PlanForm #search-line { height: 1; }
    PlanForm #search-label { width: 9; padding: 0 1; }
    PlanForm #hint { height: 1fr; padding: 1 1 0 1; color: $text-muted; }
    """

    class Changed(Message):
        """A field holds something else."""

    class Submitted(Message):
        """Enter was pressed in a field of text."""

    def __init__(self, **options: Any) -> None:
        """``options`` are those of a container (id, classes)."""
        super().__init__(**options)
        self.model = Form().model
        self._models: tuple[tuple[str, float], ...] = ()
        self._hits: list[tuple[str, float | None]] = []
        self._filling = False

    def compose(self) -> ComposeResult:
        """One line a field; the labels are one widget, since each costs its part of opening the screen."""
        fields = _fields()
        with Vertical(id="fields"):
            with Horizontal(id="pairs"):
                yield Static("\n".join(label for label, _ in fields), id="labels", markup=False)
                with Vertical(id="values"):
                    yield from (field for _, field in fields)
            yield Painted(Text(), id="hint", markup=False)
        with Vertical(id="model-box"):
            with Horizontal(id="search-line"):
                yield Static("search", id="search-label")
                yield Input(id="search", placeholder="key /")
            yield Rows(id="models")

    def on_mount(self) -> None:
        """The list is there in the first frame, where it was read in meanwhile."""
        known = known_models()
        if known:
            self.set_models(known)

    @property
    def knows_models(self) -> bool:
        """Whether the list has models."""
        return bool(self._models)

    def form(self) -> Form:
        """What the fields hold."""
        text = {name: self.query_one(f"#{name}", Input).value for name in ("seq", "batch", "gpus", "nodes", "script")}
        chosen = {name: self.query_one(f"#{name}", ChoiceField).value for name in ("method", "goal", "framework")}
        return Form(self.model, **chosen, **text)

    def fill(self, form: Form) -> None:
        """Put other values into the fields; nobody is told of a change."""
        with self.prevent(Input.Changed, ChoiceField.Changed, Rows.Moved):
            for name in ("seq", "batch", "gpus", "nodes", "script"):
                self.query_one(f"#{name}", Input).value = getattr(form, name)
            for name in ("method", "goal", "framework"):
                self.query_one(f"#{name}", ChoiceField).value = getattr(form, name)
            self.query_one("#search", Input).value = ""
            self._choose(form.model)
            self._find()
        self._hint()

    def set_models(self, models: tuple[tuple[str, float], ...]) -> None:
        """The list of known models."""
        self._models = models
        with self.prevent(Rows.Moved):
            self._find()

    def _choose(self, model: str) -> None:
        self.model = model
        name = Text(one_line(model), no_wrap=True, overflow="ellipsis")
        self.query_one("#model", Static).update(name, layout=False)

    def _find(self) -> None:
        typed = self.query_one("#search", Input).value.strip()
        words = typed.lower().split()
        found: list[tuple[str, float | None]] = [one for one in self._models if all(word in one[0] for word in words)]
        names = [name for name, _ in found]
        if typed and typed not in names:
            found.append((typed, None))
        elif not typed and self.model not in names and self._models:
            found.insert(0, (self.model, None))
        self._hits = hits = found
        names = [name for name, _ in hits]
        cursor = names.index(self.model) if self.model in names else 0
        rows = self.query_one("#models", Rows)
        rows.set(len(hits), lambda index, width: model_row(*hits[index], width, index == rows.cursor), cursor)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search, or tell of a change."""
        event.stop()
        if event.input.id == "search":
            before = self.model
            with self.prevent(Rows.Moved):
                self._find()
            self._take()
            if self.model != before:
                self.post_message(self.Changed())
        else:
            self.post_message(self.Changed())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """From the words to the list; from another field to the plan."""
        event.stop()
        if event.input.id == "search":
            self.query_one("#models").focus()
        else:
            self.post_message(self.Submitted())

    def on_choice_field_changed(self, event: ChoiceField.Changed) -> None:
        """Tell of a change, and what the value means."""
        event.stop()
        self._hint()
        self.post_message(self.Changed())

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """The model under the cursor is the chosen one."""
        event.stop()
        before = self.model
        self._take()
        if self.model != before:
            self.post_message(self.Changed())

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """A second click plans."""
        event.stop()
        self.post_message(self.Submitted())

    def _take(self) -> None:
        cursor = self.query_one("#models", Rows).cursor
        if cursor < len(self._hits):
            self._choose(self._hits[cursor][0])

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Say what the field is for."""
        self._hint()

    def _hint(self) -> None:
        at = self.screen.focused
        words = ""
        if isinstance(at, ChoiceField):
            words = f"{at.value or 'any'}: {at.meaning}. Left and right choose."
        elif at is not None:
            words = _HINTS.get(at.id or "", "")
        self.query_one("#hint", Painted).update(Text(words), layout=False)  # what the fields leave is its room


def _fields() -> list[tuple[str, Widget]]:
    """The fields with their labels, from above."""
    return [
        ("model", Static(Form().model, id="model", markup=False)),
        ("method", ChoiceField(METHODS, id="method")),
        ("sequence", Input(id="seq", placeholder="usual for the method")),
        ("batch", Input(id="batch", placeholder="left to the plan")),
        ("goal", ChoiceField(GOALS, id="goal")),
        ("framework", ChoiceField(FRAMEWORKS, id="framework")),
        ("train on", Input(id="gpus", placeholder="this machine")),
        ("nodes", Input(id="nodes", placeholder="1")),
        ("program", Input(Form().script, id="script")),
    ]
