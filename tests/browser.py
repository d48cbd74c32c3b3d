"""A real browser, Debian's chromium or what else is there, and what is asked of every page in it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def start_browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("DLBENCH_NO_SKIP"):
            pytest.fail("there is no browser, and nothing may be left out: apt-get install chromium")
        pytest.skip("there is no browser: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


CONTRASTS = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, index) => sum + c * [0.2126, 0.7152, 0.0722][index], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")]
    .filter((element) => element.checkVisibility()
      && [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim()))
    .map((element) => {
      const pair = [light(channels(getComputedStyle(element).color)), light(ground(element))].sort((a, b) => b - a);
      return [(pair[0] + 0.05) / (pair[1] + 0.05), element.outerHTML.slice(0, 80)];
    });
}"""


def check_theme(page: Page, ready: str) -> None:
    """The theme follows the system, dark at first, until it is chosen, and is kept; `ready` says when a page is drawn."""
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(ground)
    assert light != dark
    page.emulate_media(color_scheme="dark")
    page.click("#theme")
    assert page.evaluate(ground) == light
    page.reload()
    page.wait_for_selector(ready)
    assert page.evaluate(ground) == light
    page.click("#theme")
    assert page.evaluate(ground) == dark
    assert page.text_content("#theme") == "Theme: dark"
