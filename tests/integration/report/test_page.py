"""The page of a report in a real browser, as people see it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from orinbench_client.cli.report import write_report
from playwright.sync_api import Browser, Page, sync_playwright

from tests.integration.report.results import HOSTILE, SAMPLES, write_results

pytestmark = [pytest.mark.tool("chromium"), pytest.mark.filterwarnings("ignore::DeprecationWarning:playwright")]
GOOD, BAD, GRADED = ("run-native-suite-run-good", "run-native-suite-run-bad", "run-parse-own-run-graded")
HOSTILE_RUN = "run-native-suite-run-sim"
OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a folder with everything."""
    folder = tmp_path_factory.mktemp("report")
    return write_report(write_results(folder), folder / "out", trust=folder / "none.json")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser, page_file: Path) -> Iterator[OpenPage]:
    """Opens the page; fails the test if the page complains, fails, or asks for anything but itself."""
    complaints: list[str] = []
    contexts = []

    def open_it(anchor: str = "", **options: Any) -> Page:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url))
        page.goto(f"{page_file.as_uri()}#{anchor}")
        return page

    yield open_it
    assert [text for text in complaints if not text.startswith(page_file.as_uri())] == []
    assert len(complaints) == len(contexts)
    for context in contexts:
        context.close()


def samples_in(page: Page, anchor: str) -> Any:
    """Open a run and return its place of samples once they are there."""
    page.locator(f"[id='{anchor}'] > summary").click()
    page.wait_for_selector(f"[id='{anchor}'] .samples tbody tr")
    return page.locator(f"[id='{anchor}'] .samples")


def first_column(page: Page) -> list[str]:
    """Return the ranks of the first table as they stand."""
    return page.locator("table").first.locator("tbody td:first-child").all_inner_texts()


def test_the_page_names_no_address(page_file: Path) -> None:
    """No scheme of an address stands anywhere in the page, and its policy forbids every connection."""
    text = page_file.read_text(encoding="utf-8")

    assert not re.findall(r"(?:https?|wss?|ftp):|[\"'(]//|@import|url\(", text)
    assert "default-src 'none'" in text


def test_a_click_sorts_and_says_so(open_page: OpenPage) -> None:
    """A heading sorts its table by number, up and then down, by mouse and by keyboard, and names the order it is in."""
    page = open_page()
    heading = page.locator("table").first.locator("th", has_text="CER")
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert first_column(page) == ["1", "2"]
    heading.locator("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert first_column(page) == ["2", "1"]


def test_the_filter_keeps_what_holds_every_word(open_page: OpenPage) -> None:
    """Lines of a board and runs are found by model, by what they are marked with, and by several words at once."""
    page = open_page()
    page.locator("section.board input.filter").first.fill("z-good")
    assert first_column(page)[0] == "1"
    assert page.locator("table").first.locator("tbody tr:visible").count() == 1
    page.locator("#runs input.filter").fill("incomplete failed")
    assert page.locator("details.run:visible").get_attribute("id") == "run-native-suite-run-failed"
    assert page.locator("#runs .found").inner_text() == "1 of 5"


def test_a_link_opens_its_run(open_page: OpenPage) -> None:
    """A model in a board leads to its run, opened; so does the address of a run."""
    page = open_page()
    page.get_by_role("link", name="z-good").first.click()
    page.wait_for_selector(f"[id='{GOOD}'][open] .samples tbody tr")
    open_page(BAD).wait_for_selector(f"[id='{BAD}'][open] .samples tbody tr")


def test_hostile_names_and_texts_are_only_text(open_page: OpenPage) -> None:
    """A model and a transcript that are markup appear as they are, and nothing of them runs."""
    page = open_page()
    place = samples_in(page, HOSTILE_RUN)
    place.locator("input[type=checkbox]").check()

    assert page.title() == "orinbench report"
    assert page.locator("img").count() == 0
    assert page.locator(f"[id='{HOSTILE_RUN}'] h3").inner_text() == HOSTILE
    assert "<img" in samples_in_order(samples_in(open_page(), GOOD))[0]


def samples_in_order(place: Any) -> list[str]:
    """Return all that the model said, untouched, on the page that is shown."""
    place.locator("input[type=checkbox]").check()
    return [str(text) for text in place.locator(".raw").all_inner_texts()]


def test_long_runs_are_paged(open_page: OpenPage) -> None:
    """Fifty samples are in the page at a time; the last page has the rest."""
    place = samples_in(open_page(), BAD)
    on = place.get_by_role("button", name="Next")
    assert place.locator("tbody tr").count() == 50
    on.click()
    on.click()

    assert place.locator("tbody tr").count() == SAMPLES - 100
    assert on.is_disabled()
    assert place.locator(".pager .found").inner_text() == f"101 to {SAMPLES} of {SAMPLES}"


def test_edits_are_told_apart_without_colour(open_page: OpenPage) -> None:
    """What was left out, inserted and substituted is struck out, underlined twice and waved; the worst come first."""
    place = samples_in(open_page(), BAD)
    place.locator("select").last.select_option(label="CER, highest first")
    styles = {
        mark: place.locator(f"tbody {mark}").first.evaluate(
            "element => ['Line', 'Style'].map(part => getComputedStyle(element)[`textDecoration${part}`]).join(' ')"
        )
        for mark in ("del", "ins", ".sub")
    }
    rates = [float(text.split()[0]) for text in place.locator("td[data-name=CER]").all_inner_texts()]

    assert styles == {"del": "line-through solid", "ins": "underline double", ".sub": "underline wavy"}
    assert rates == sorted(rates, reverse=True)


def test_persian_runs_from_the_right(open_page: OpenPage) -> None:
    """A Persian text takes its own direction, isolated from what stands around it."""
    text = samples_in(open_page(), GOOD).locator("td.text > div").nth(2)
    found = text.evaluate("element => [getComputedStyle(element).direction, getComputedStyle(element).unicodeBidi]")

    assert found[0] == "rtl"
    assert "isolate" in found[1] or found[1] == "plaintext"


def test_wrong_and_unparsable_answers_are_found(open_page: OpenPage) -> None:
    """Graded replies show the rule they were read by, and can be narrowed to the wrong and to the unparsable."""
    page = open_page()
    place = samples_in(page, GRADED)
    choice = place.locator("select").first
    seen = {}
    for words in ("All", "Right", "Wrong", "Unparsable"):
        choice.select_option(label=words)
        seen[words] = set(place.locator("td[data-name=Grade]").all_inner_texts())
    choice.select_option(label="Unparsable")

    assert seen["Unparsable"] == {"unparsable"}
    assert seen["Right"] <= {"right"}
    assert seen["All"] == seen["Right"] | seen["Wrong"]
    assert "right" not in seen["Wrong"]
    assert all(place.locator("td[data-name=Rule]").all_inner_texts())
    assert page.locator(f"[id='{GRADED}'] .banner").inner_text().startswith("No references: ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_is_the_systems_until_somebody_chooses(open_page: OpenPage, scheme: Any) -> None:
    """The page begins in the system's theme and a button changes it; text keeps a contrast of 4.5 in both."""
    page = open_page(color_scheme=scheme)
    for _ in range(2):
        assert contrast(page) > 4.5
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.locator("#theme").click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def contrast(page: Page) -> float:
    """Return the lowest contrast of marks, muted text and links against the ground they stand on (WCAG 2)."""
    return float(
        page.evaluate(
            """() => {
                const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
                const light = (colour) => {
                    const [red, green, blue] = colour.match(/[\\d.]+/g).map((part) => channel(part / 255));
                    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
                };
                const ground = (element) => {
                    const colour = getComputedStyle(element).backgroundColor;
                    return colour === "rgba(0, 0, 0, 0)" ? ground(element.parentElement) : colour;
                };
                const ratio = (element) => {
                    const [low, high] = [light(getComputedStyle(element).color), light(ground(element))].sort();
                    return (high + 0.05) / (low + 0.05);
                };
                return Math.min(...[...document.querySelectorAll("a, .mark, dt, dd, thead th, caption")].map(ratio));
            }"""
        )
    )


def test_a_phone_needs_no_sideways_scroll(open_page: OpenPage) -> None:
    """At 360 pixels neither the page nor an opened run is wider than the screen."""
    page = open_page(viewport={"width": 360, "height": 740})
    for anchor in (GOOD, BAD, GRADED, "run-native-suite-run-failed"):
        samples_in(page, anchor)
        page.locator(f"[id='{anchor}'] .surroundings > summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_what_is_simulated_or_broken_off_stands_apart(open_page: OpenPage) -> None:
    """Runs that are not ranked are in a table of their own with their marks and the cause, and in no other."""
    page = open_page()
    apart = page.locator("table.unranked").first.inner_text()
    ranked = page.locator("table").first.inner_text()

    assert all(words in apart for words in ("SIMULATED", "FAILED", "INCOMPLETE", "hung: no progress for 60 s"))
    assert "simulated" not in ranked
    assert "signature unknown" in ranked


def test_tables_and_charts_are_named(open_page: OpenPage) -> None:
    """Every table has a caption and scoped headings, every chart a name: what a screen reader needs."""
    page = open_page(GOOD)
    page.wait_for_selector(f"[id='{GOOD}'] .samples tbody tr")

    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("main > section table:not(:has(caption))").count() == page.locator(".samples table").count()
    assert page.locator("svg:not([role=img][aria-label])").count() == 0
    assert page.locator("svg").count() >= 5
