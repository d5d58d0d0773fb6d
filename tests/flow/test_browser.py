"""The link that a sweep prints, opened in a real browser: it shows the trials and their charts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flow_project import Project, Server, require

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHROMIUM = Path("/usr/bin/chromium")
MLFLOWS_OWN = (
    "/ajax-api/2.0/mlflow/users/current",  # its page asks for it; a server without mlflow[auth] has none
    "ResizeObserver loop completed with undelivered notifications",  # a notice of the browser about its page's layout
)
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


def test_the_printed_link_shows_trials_and_charts_in_the_mlflow_ui(
    opened: Project, mlflow_server: Callable[..., Server], page: Any, tmp_path: Path
) -> None:
    printed = opened.ok("sweep")
    assert printed["ui_command"].endswith(f"mlflow ui --backend-store-uri {opened.tracking_uri}")
    server = mlflow_server(opened.root / "mlflow.db", verb="ui")
    errors: list[str] = []
    outside: list[str] = []
    page.on("console", lambda m: errors.append(f"{m.text} {m.location.get('url', '')}") if m.type == "error" else None)
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.on("requestfailed", lambda r: outside.append(r.url))

    page.goto(printed["ui_url"].replace("http://127.0.0.1:5000", server.uri))

    for name in ("words 12/0", "words 12/3", "words 24/0", "words 24/6"):
        page.get_by_text(name, exact=True).first.wait_for()
    for chart in ("hit_at_1", "mrr"):
        page.get_by_text(re.compile(rf"^(dev/)?{chart}$")).first.wait_for()
    page.locator(".js-plotly-plot svg, svg.main-svg, canvas").first.wait_for()
    page.wait_for_timeout(500)  # the charts are drawn
    page.screenshot(path=str(tmp_path / "charts.png"))
    assert (tmp_path / "charts.png").stat().st_size > 20_000
    assert [e for e in errors if not any(known in e for known in (*outside, *MLFLOWS_OWN))] == []
    assert not [url for url in outside if url.startswith(server.uri)]


def test_the_report_opens_without_a_server_and_asks_the_network_for_nothing(opened: Project, page: Any, tmp_path: Path) -> None:
    path = Path(opened.ok("report")["path"])
    errors: list[str] = []
    asked: list[str] = []
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.on("request", lambda r: asked.append(r.url))

    page.goto(path.as_uri())

    page.get_by_text("words 24/").first.wait_for()
    page.screenshot(path=str(tmp_path / "report.png"), full_page=True)
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
