"""The machine drawn: NUMA nodes, PCIe tree, links between GPUs; one GPU in full beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from rocdoctor.host.base import Host
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import one_line
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import Page
from rocdoctor.tui.topology.drawn import Drawn, DrawnPane
from rocdoctor.tui.widgets.options import ask_words

if TYPE_CHECKING:
    from rocdoctor.tui.topology.drawing import Drawing

_STEP = 3  # lines that the arrow keys scroll where there is no GPU to go to


class TopologyPage(Page):
    """The drawing, and the details of the selected GPU."""

    AREA = "topology"
    ROOMY: ClassVar[Mapping[str, int]] = {"wide": 120}  # the details stand beside the drawing
    AUTO_FOCUS = ""
    OWN_KEYS = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "go(1)", "GPU", key_display="↑↓", tooltip="the next GPU or the one before; then scroll"),
        Binding("up,k", "go(-1)", "Previous GPU", show=False),
        Binding("down,j", "scroll(1)", "Scroll", key_display="↑↓"),
        Binding("up,k", "scroll(-1)", "Scroll up", show=False),
        Binding(
            "v", "view", "View", tooltip="the machine as boxes, or as a tree with all that is known about each link"
        ),
        Binding("m", "links", "Links", tooltip="to the links between GPUs"),
        Binding("d", "details", "Details", tooltip="show or hide the details of the GPU"),
        Binding("enter", "findings", "Findings", tooltip="the findings of the GPU, or all"),
        Binding("slash", "search", "Search", key_display="/", tooltip="go to the next line that contains some words"),
        Binding("pagedown,space", "page(1)", "Page down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("home", "end(-1)", "Top", show=False),
        Binding("end", "end(1)", "Bottom", show=False),
    ]
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("page up/down", "scroll the drawing"),
        ("home, end", "its top, its bottom"),
        ("tab", "into the details, where the arrows scroll"),
        ("mouse", "a click selects a GPU"),
    )
    CSS = """
    TopologyPage #topology { layout: vertical; height: 1fr; }
    TopologyPage #drawing { height: 3fr; width: 1fr; padding: 0; }
    TopologyPage #details { height: 2fr; width: 1fr; border-top: solid $accent; padding: 0 1; }
    TopologyPage #details:focus { border-top: heavy $accent; }
    TopologyPage.wide #topology { layout: horizontal; }
    TopologyPage.wide #drawing { height: 1fr; width: 3fr; }
    TopologyPage.wide #details { height: 1fr; width: 2fr; border: none; border-left: solid $accent; }
    TopologyPage.wide #details:focus { border-left: heavy $accent; }
    TopologyPage.closed #details { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._host: Host | None = None
        self._diagnosis: Diagnosis | None = None  # with the values of the last look
        self._of: tuple[Diagnosis | None, Machine | None] = (None, None)  # what the screens knew then
        self._drawn: tuple[Diagnosis, int] | None = None
        self._drawing: Drawing | None = None
        self._gpu: int | None = None
        self._shut = False  # the person wants no details
        self._fresh = True  # other evidence is to be drawn: from its top, or from a GPU with a fault
        self._boxed: bool | None = None  # None: boxes where there is room for all of them; what is shown first stays
        self._early = 0  # steps that were asked for before there was a drawing
        self._sought = ""
        self._found = -1  # the line that the last search found

    def body(self) -> ComposeResult:
        """Two panes."""
        with Container(id="topology"):
            yield Drawn(id="drawing")
            yield DrawnPane(id="details")

    def show(self, look: Look) -> None:
        """Draw what is known; the selected GPU and the place in the drawing stay while the evidence is the same."""
        host = self.rocdoctor.host
        other = self._host is None or self._host.origin != host.origin
        self._host = host
        if look.diagnosis is None:
            if other or look.phase == "failed":
                self._say("Looking ..." if look.busy else f"rocdoctor itself failed: {one_line(look.problem)}")
            return
        known = self._diagnosis
        if known is None or self._of[0] is not look.diagnosis or self._of[1] is not look.now:
            self._of = look.diagnosis, look.now
            self._diagnosis = look.diagnosis_now or look.diagnosis
        if known is None or len(known.machine.gpus) != len(look.diagnosis.machine.gpus):
            self.refresh_bindings()
        if other:
            self._gpu, self._boxed = None, None
        indices = [gpu.index for gpu in look.diagnosis.machine.gpus]
        if self._gpu not in indices:
            from rocdoctor.judging.gpu_standing import first_gpu  # read in after the screen is there

            self._gpu = first_gpu(look.diagnosis)
        self._fresh |= other
        self._close()
        self.call_after_refresh(self._draw)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of GPUs where there are some."""
        known = self.look.diagnosis or self._diagnosis  # of the app: the first key bar is the right one
        gpus = len(known.machine.gpus) if known is not None else 0
        least = {"go": 1, "details": 1, "view": 1, "search": 1, "links": 2}.get(action, 0)
        return gpus == 0 if action == "scroll" else gpus >= least

    async def action_findings(self) -> None:
        """The findings of the selected GPU; all of the machine where it has none."""
        known = self._diagnosis.verdicts if self._diagnosis is not None else ()
        gpus = self._diagnosis.machine.gpus if self._diagnosis is not None else ()
        subject = next((gpu.subject for gpu in gpus if gpu.index == self._gpu), None)
        if subject is not None and any(one.finding is not None and one.subject == subject for one in known):
            await self.rocdoctor.show_finding(subject)
        else:
            await self.rocdoctor.action_area("findings")

    def _say(self, words: str) -> None:
        self._diagnosis, self._drawn, self._gpu = None, None, None
        self._drawing, self._early = None, 0
        self._close()
        self.query_one("#drawing", Drawn).put((Text(words),), (None,))

    def adapt(self) -> None:
        """No room for details where there is nothing to tell."""
        super().adapt()
        self._close()

    def _close(self) -> None:
        known = self.look.diagnosis or self._diagnosis
        self.set_class(self._shut or known is None or not known.machine.gpus, "closed")

    def _draw(self) -> None:
        """Lines for the width that there is now."""
        pane = self.query_one("#drawing", Drawn)
        if self._diagnosis is None or pane.outer_size.width == 0:
            return
        if self._drawn is None or self._drawn[0] is not self._diagnosis or self._drawn[1] != pane.room:
            self._drawn = (self._diagnosis, pane.room)
            self._put(self._diagnosis)
        assert self._drawing is not None
        top = next((gpu for gpu in self._drawing.gpus if gpu is not None), None)
        seen = self._fresh and self._gpu != top
        if self._fresh and not seen:
            pane.scroll_home(animate=False)
        pane.select(self._gpu, seen=seen)
        if self._fresh and self._gpu is not None:
            pane.show_spot(self._gpu)
        self._fresh = False
        self._fill_details()
        steps, self._early = self._early, 0
        for _ in range(abs(steps)):
            self.action_go(1 if steps > 0 else -1)

    def _put(self, diagnosis: Diagnosis) -> None:
        """The drawing of now, as boxes or as a tree."""
        from rocdoctor.tui.topology.drawing import topology, topology_in_boxes  # read in after the screen is there

        pane, machine = self.query_one("#drawing", Drawn), diagnosis.machine
        drawn = None
        if machine.gpus and self._boxed is not False:
            drawn = topology_in_boxes(machine, diagnosis.verdicts, pane.room, self._gpu)
            if self._boxed is None:
                self._boxed = self.has_class("wide") and len(drawn.lines) <= pane.size.height
        if drawn is None or not self._boxed:
            drawn = topology(machine, diagnosis.verdicts, pane.room)
        self._drawing, self._found = drawn, -1
        pane.put(drawn.lines, drawn.gpus, drawn.spots)

    def action_view(self) -> None:
        """Boxes instead of the tree, or the tree instead of boxes."""
        if self._drawing is None or self._diagnosis is None:
            return
        self._boxed = not self._drawing.spots
        self._put(self._diagnosis)
        pane = self.query_one("#drawing", Drawn)
        pane.scroll_home(animate=False)
        pane.select(self._gpu)
        if self._gpu is not None:
            pane.show_spot(self._gpu)

    def _selected(self) -> Gpu | None:
        gpus = self._diagnosis.machine.gpus if self._diagnosis is not None else ()
        return next((gpu for gpu in gpus if gpu.index == self._gpu), None)

    def _fill_details(self) -> None:
        from rocdoctor.tui.topology.gpu_details import gpu_details

        gpu, pane = self._selected(), self.query_one(DrawnPane)
        if gpu is None or self._diagnosis is None or pane.outer_size.width == 0:
            return
        machine, verdicts = self._diagnosis.machine, self._diagnosis.verdicts
        pane.put(gpu_details(machine, verdicts, gpu, pane.room, airy=self.has_class("wide")))
        pane.border_title = gpu.label

    def on_drawn_measured(self) -> None:
        """Draw for another width."""
        self._draw()

    def _select(self, gpu: int) -> None:
        self._gpu = gpu
        pane = self.query_one("#drawing", Drawn)
        if self._drawing is not None and self._drawing.spots and self._diagnosis is not None:
            self._put(self._diagnosis)
            pane.show_spot(gpu)
        pane.select(gpu)
        self._fill_details()
        self.query_one(DrawnPane).scroll_home(animate=False)

    def on_drawn_picked(self, message: Drawn.Picked) -> None:
        """Select the GPU that was clicked on."""
        self._select(message.part)

    def action_go(self, by: int) -> None:
        """The next GPU, or the one before; where there is none, scroll. A selection out of sight is brought back."""
        if self._drawing is None:
            self._early += by
            return
        pane = self.query_one("#drawing", Drawn)
        order = [*self._drawing.spots] or list(dict.fromkeys(gpu for gpu in self._drawing.gpus if gpu is not None))
        at = order.index(self._gpu) + by if self._gpu in order else -1
        line = self._drawing.line_of(self._gpu) if self._gpu is not None else None
        if line is not None and not pane.in_sight(self._gpu) and (line < pane.scroll_y) == (by < 0):
            pane.select(self._gpu)
        elif 0 <= at < len(order) and (self._drawing.spots or pane.in_sight(self._gpu)):
            self._select(order[at])
        else:
            self.action_scroll(by)

    def action_scroll(self, by: int) -> None:
        """Some lines of the drawing."""
        self.query_one("#drawing", Drawn).scroll_relative(y=by * _STEP, animate=False)

    def action_page(self, by: int) -> None:
        """A height of the drawing."""
        pane = self.query_one("#drawing", Drawn)
        pane.scroll_relative(y=by * max(1, pane.size.height - 1), animate=False)

    def action_end(self, by: int) -> None:
        """The top or the bottom of the drawing."""
        pane = self.query_one("#drawing", Drawn)
        pane.scroll_to(y=0 if by < 0 else pane.max_scroll_y, animate=False)

    def action_links(self) -> None:
        """To the links between GPUs."""
        if self._drawing is not None:
            self.query_one("#drawing", Drawn).scroll_to(y=self._drawing.links, animate=False)

    def action_search(self) -> None:
        """Ask for words, and go to the next line of the drawing that has them."""
        ask_words(self.app, self._sought, self._find, "line")

    def _find(self, words: str) -> bool:
        """Go to the next line after the one that was found last, else to the first; whether there is one."""
        again, self._sought = words == self._sought, words
        drawing, wanted = self._drawing, words.lower().split()
        if drawing is None:
            return False
        first = self._found if again and self._found >= 0 else -1
        order = (*range(first + 1, len(drawing.lines)), *range(first + 1))
        for at in order:
            if all(one in drawing.lines[at].plain.lower() for one in wanted):
                gpu = drawing.gpu_at(at, wanted)
                if gpu is not None and gpu != self._gpu:
                    self._select(gpu)
                self._found = at
                self.query_one("#drawing", Drawn).point(at, words.split())
                return True
        return False

    def action_details(self) -> None:
        """Give the whole room to the drawing, or not."""
        if self._gpu is not None:
            self._shut = not self._shut
            self.set_class(self._shut, "closed")
