"""The link that a sweep prints, opened in a real browser: it shows the trials and their charts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flow_project import GRID, Project, Server, require

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHROMIUM = Path("/usr/bin/chromium")
MLFLOWS_OWN = (
    "/ajax-api/2.0/mlflow/users/current",  # its page asks for it; a server without mlflow[auth] has none
    "ResizeObserver loop completed with undelivered notifications",  # a notice of the browser about its page's layout
)
# Now and then MLflow draws parallel coordinates before their place has a size, and once more when it has one.
DRAWN_TOO_EARLY = re.compile(r"Error: <\w+> attribute \w+: .*NaN")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@pytest.fixture
def page() -> Iterator[Any]:
    require(CHROMIUM.exists(), "Chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1600, "height": 1200})
        page.set_default_timeout(60_000)
        yield page
        browser.close()


class Watched:
    """What a page complains about and asks for."""

    def __init__(self, page: Any) -> None:
        self.errors: list[str] = []
        self.failed: list[str] = []
        page.on("console", lambda m: self.errors.append(f"{m.text} {m.location.get('url', '')}") if m.type == "error" else None)
        page.on("pageerror", lambda e: self.errors.append(str(e)))
        page.on("requestfailed", lambda r: self.failed.append(r.url))

    def complaints(self, server: Server) -> list[str]:
        """Errors that are the page's own, and what its server did not give."""
        own = [e for e in self.errors if not any(known in e for known in (*self.failed, *MLFLOWS_OWN))]
        own = [e for e in own if not DRAWN_TOO_EARLY.match(e)]
        return own + [url for url in self.failed if url.startswith(server.uri)]


def test_the_printed_link_shows_trials_and_charts_in_the_mlflow_ui(
    opened: Project, mlflow_server: Callable[..., Server], page: Any, tmp_path: Path
) -> None:
    printed = opened.ok("sweep")
    assert printed["ui_command"].endswith(f"mlflow ui --backend-store-uri {opened.tracking_uri}")
    server = mlflow_server(opened.root / "mlflow.db", verb="ui")
    watched = Watched(page)

    page.goto(printed["ui_url"].replace("http://127.0.0.1:5000", server.uri))

    for name in ("words 12/0", "words 12/3", "words 24/0", "words 24/6"):
        page.get_by_text(name, exact=True).first.wait_for()
    for chart in ("hit_at_1", "mrr"):
        page.get_by_text(re.compile(rf"^(dev/)?{chart}$")).first.wait_for()
    page.locator(".js-plotly-plot svg, svg.main-svg, canvas").first.wait_for()
    page.wait_for_timeout(500)  # the charts are drawn
    page.screenshot(path=str(tmp_path / "charts.png"))
    assert (tmp_path / "charts.png").stat().st_size > 20_000
    assert watched.complaints(server) == []


SEVERAL = {
    "several splitters": {**GRID, "splitter": ["words", "sentences"], "chunk_size": [12, 24, 40], "trials": 12},
    "one splitter": {**GRID, "baselines": ["whole-section"]},
}


@pytest.mark.parametrize("search", SEVERAL.values(), ids=SEVERAL)
def test_the_second_link_shows_settings_and_metrics_side_by_side(
    project: Project, mlflow_server: Callable[..., Server], page: Any, tmp_path: Path, search: dict[str, Any]
) -> None:
    project.configure(search={**search, "chunk_size": [16]})
    project.ok("sweep")
    project.configure(search=search)
    project.ok("sweep", "--fresh")  # of which alone the link is
    ran = project.run("sweep", "exp.toml")
    link = project.ok("sweep")["compare_url"]
    assert f"side by side: {link}" in ran.out
    server = mlflow_server(project.root / "mlflow.db", verb="ui")
    watched = Watched(page)

    page.goto(link.replace("http://127.0.0.1:5000", server.uri))

    page.locator(".parcoords path").first.wait_for(state="attached")
    page.wait_for_timeout(500)  # the lines are drawn
    page.screenshot(path=str(tmp_path / "side_by_side.png"))
    axes = page.locator(".parcoords text.label").all_text_contents()
    settings, metrics = ["chunk_size", "overlap_ratio", "splitter"], ["dev/hit_at_3", "index_ratio", "dev/mrr"]
    assert axes[:3] == settings
    assert {*metrics, "dev/ceiling", "context_at_3"} < set(axes)
    assert axes[-1] == "dev/hit_at_1", "the last one gives the colour"
    assert "NaN" not in page.locator(".parcoords").first.evaluate("chart => chart.outerHTML")
    assert "words 16/0" not in page.locator("body").inner_text(), "another study's"
    assert watched.complaints(server) == []


def test_the_report_opens_without_a_server_and_asks_the_network_for_nothing(opened: Project, page: Any, tmp_path: Path) -> None:
    path = Path(opened.ok("report")["path"])
    errors: list[str] = []
    asked: list[str] = []
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.on("request", lambda r: asked.append(r.url))

    page.goto(path.as_uri())

    page.get_by_text("words 24/").first.wait_for()
    for name in ("Trials", "How sure", "Chunk size", "Cost", "Baselines", "Contexts to read by eye", "Gate"):
        page.get_by_role("heading", name=name, exact=True).wait_for()
    for scheme, width in (("light", 1200), ("dark", 390)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=str(tmp_path / f"report-{scheme}-{width}.png"), full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    figures = page.eval_on_selector_all("figure img", "all => all.map(i => [i.complete, i.naturalWidth > 0])")
    assert len(figures) >= 7 and all(map(all, figures))
    page.get_by_role("link", name="To read by eye").click()
    page.locator("section[aria-labelledby=reading] details summary").first.click()
    page.locator("section[aria-labelledby=reading] .context mark").first.wait_for()
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
