"""Somebody who rates, with a keyboard and nothing else."""

import os
import re
from pathlib import Path
from typing import Any

from personafit.label.texts import QUIZZES
from tests.label.browser.site import Site

PICTURES = os.environ.get(
    "PERSONAFIT_PICTURES"
)  # a folder to which pages are photographed, for the documentation


class Rater:
    """A browser profile with one tab."""

    def __init__(self, context: Any, site: Site) -> None:
        self.context, self.site = context, site
        self.faults: list[str] = []
        self.page = self.tab()

    def tab(self) -> Any:
        """Another tab, whose faults are noted."""
        page = self.context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda said: self._noted(said))
        return page

    def _noted(self, said: Any) -> None:
        # What the network does is the tests' own doing; the rest, such as what the policy refuses, is a fault.
        if said.type == "error" and "ERR_" not in said.text and "status of" not in said.text:
            self.faults.append(said.text)

    # -- coming in -------------------------------------------------------------------------------------------------

    def join(self, study: str, query: str = "") -> "Rater":
        """Open an invitation, agree, pass the check if there is one."""
        self.page.goto(self.site.link(study, query))
        self.agree()
        if self.page.url.endswith("/check"):
            self.pass_check(self.site.studies.study(study).form)
        self.page.wait_for_selector("main.rating")
        return self

    def agree(self) -> None:
        """Tick the box and go on."""
        self.tab_to("input[name=agree]")
        self.press("Space")
        self.tab_to("button[type=submit]")
        self.press("Enter")
        self.page.wait_for_url(re.compile("/check|/rate"))

    def pass_check(self, form: str, language: str = "en") -> None:
        """Answer the comprehension check rightly."""
        self.answer_check([question["right"] for question in QUIZZES[language][form]])

    def answer_check(self, choices: list[int]) -> None:
        """Answer the comprehension check so."""
        for number, choice in enumerate(choices):
            self.tab_to(f"input[name=q{number}]")
            self.press("Space")
            for _ in range(choice):
                self.press("ArrowDown")
        self.tab_to("button[type=submit]")
        self.press("Enter")

    # -- keys ------------------------------------------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, selector: str) -> None:
        """Press Tab until this has the focus."""
        for _ in range(80):
            if self.page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
                return
            self.press("Tab")
        raise AssertionError(f"{selector} cannot be reached with Tab")

    # -- what is on the page ------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Which page is shown."""
        return int(self.page.get_attribute("main.rating", "data-position"))

    def at(self, position: int) -> "Rater":
        """Wait until this page is shown."""
        self.page.wait_for_selector(f"main.rating[data-position='{position}']")
        return self

    def saved(self) -> None:
        """Wait until everything is stored."""
        self.status("Saved")

    def status(self, text: str) -> None:
        """Wait until the line above the page says so."""
        self.page.wait_for_function(
            "(text) => document.getElementById('saved')?.textContent.includes(text)", arg=text
        )

    def pressed(self) -> list[str]:
        """The answers that are shown as given: 'field=value'."""
        found: list[str] = self.page.eval_on_selector_all(
            "main [aria-pressed=true]",
            "(all) => all.map((one) => `${one.dataset.field}=${one.dataset.value ?? one.dataset.why}`)",
        )
        return found

    def complete(self, *keys: str) -> None:
        """Answer every open field of the page with these keys in turn, the last one for all others, until Next is reached."""
        for step in range(60):
            if self.page.evaluate("() => document.activeElement.id === 'next'"):
                return
            self.press(keys[min(step, len(keys) - 1)])
        raise AssertionError("the page did not come to an end")

    def finished(self) -> None:
        """Wait for the thanks."""
        self.page.wait_for_url("**/done")

    # -- looking -----------------------------------------------------------------------------------------------------

    def accessible(self) -> None:
        """Insist that axe finds nothing serious or critical."""
        from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

        found = Axe().run(self.page).response["violations"]
        bad = [
            (one["id"], [node["target"] for node in one["nodes"]][:3])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert bad == []

    def fits(self) -> None:
        """Insist that nothing is wider than the window."""
        wide = self.page.evaluate(
            "() => [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1"
            " && !one.closest('pre, .unseen, dialog:not([open])')).map((one) => one.outerHTML.slice(0, 80))"
        )
        assert wide == []

    def picture(self, name: str) -> None:
        """Photograph the page, where pictures are wanted."""
        if PICTURES:
            self.page.screenshot(path=str(Path(PICTURES) / f"label-{name}.png"), animations="disabled")
