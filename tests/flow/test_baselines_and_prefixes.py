"""Baselines and what is prepended, through a whole sweep: measured, shown, and kept apart from the choice."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_project import GRID, TPE, Project

BASELINES = ["whole-document", "whole-section"]


@pytest.mark.parametrize("search", [GRID, TPE], ids=["grid", "tpe"])
def test_baselines_are_measured_on_top_and_are_not_picked_although_they_always_hold_the_answer(project: Project, search):
    project.configure(search={**search, "baselines": BASELINES})
    swept = project.ok("sweep")
    assert swept["trials"]["complete"] == search["trials"], "they are no part of the search"
    assert [b["params"]["splitter"] for b in swept["baselines"]] == BASELINES
    assert [b["trial"] for b in swept["baselines"]] == [search["trials"], search["trials"] + 1], "they come last"
    assert swept["chosen"]["params"]["splitter"] == swept["leader"]["params"]["splitter"] == "words"

    runs = {r.data.params["splitter"]: r for r in project.runs("trial") if r.data.params["splitter"] in BASELINES}
    assert set(runs) == set(BASELINES)
    for run in runs.values():
        assert run.data.metrics["index_ratio"] == 1.0
        assert run.data.metrics["dev/ceiling"] >= max(
            r.data.metrics["dev/ceiling"] for r in project.runs("trial") if r.data.params["splitter"] == "words"
        )
        assert not {"chunk_size", "overlap", "overlap_ratio"} & set(run.data.params), "what it has not is no parameter"
        assert "oversize_share" not in run.data.metrics

    again = project.ok("sweep")
    assert again["trials"] == swept["trials"], "a baseline is not measured twice"
    project.ok("lock")
    assert "baseline" in (project.ok("report")["path"] and (project.state / "small" / "report" / "index.html").read_text("utf-8"))


@pytest.mark.parametrize("search", [GRID, TPE], ids=["grid", "tpe"])
def test_baselines_come_and_go_in_one_study_and_cost_no_other_trial(project: Project, search):
    project.configure(search={**search, "trials": 2, "baselines": ["whole-document"]})
    assert counts(project.ok("sweep")) == (2, 1)
    project.configure(search={**search, "trials": 4})
    assert counts(project.ok("sweep")) == (4, 1), "the dropped one takes no place of another's"
    project.configure(search={**search, "trials": 4, "baselines": BASELINES})
    assert counts(project.ok("sweep")) == (4, 2)


def counts(swept):
    return swept["trials"]["complete"], len(swept["baselines"])


def test_where_none_are_named_all_are_measured_beside_the_trials_also_of_a_study_begun_without(project: Project):
    before = project.ok("sweep")
    project.configure(search={k: v for k, v in GRID.items() if k != "baselines"})
    estimated, swept = project.ok("estimate"), project.ok("sweep")

    assert counts(swept) == (4, 3)
    changed = {"baselines": [], "tokens": {}, "statistics": {}}
    assert {**swept, **changed} == {**before, **changed}, "no trial of the search"
    assert [b["params"]["splitter"] for b in swept["baselines"]] == ["whole-document", "whole-section", "conventional"]
    assert [b["trial"] for b in swept["baselines"]] == [None] * 3
    assert len(project.runs("trial")) == len(estimated["points"]) == estimated["trials"] == 4
    assert 3 < estimated["baseline_tokens"] / estimated["tokens_per_pass"] < 3.5
    assert project.ok("sweep") == swept, "they are not measured again"
    page = Path(project.ok("report")["path"]).read_text("utf-8")
    assert all(name in page for name in ("whole-document", "whole-section", "conventional"))
    project.ok("lock")
    project.ok("holdout")
    assert project.ok("audit")["findings"] == []


def test_a_search_that_prunes_measures_baselines_whole(project: Project):
    search = {k: v for k, v in TPE.items() if k != "baselines"}
    project.configure(embedder={"type": "term-frequency"}, search={**search, "prune": "bound", "sampler": "random"})
    assert all("dev/hit_at_1" in b["metrics"] for b in project.ok("sweep")["baselines"])


def test_a_baseline_may_be_chosen_where_that_is_allowed_and_goes_through_lock_holdout_and_audit(project: Project):
    project.configure(search={**GRID, "baselines": ["whole-section"]}, selection={"allow_baselines": True})
    swept = project.ok("sweep")
    (baseline,) = [r for r in project.runs("trial") if r.data.params["splitter"] == "whole-section"]
    number = baseline.data.tags["harness.trial"]
    project.ok("lock", "--trial", number, "--because", "sections are what we show")
    assert 'splitter = "whole-section"\nunit' in (project.root / "exp.lock.toml").read_text("utf-8")
    project.ok("holdout")
    assert project.ok("audit")["findings"] == []
    assert swept["trials"]["failed"] == 0


def test_a_baseline_among_the_splitters_is_told_where_it_belongs(bare: Project):
    bare.configure(search={**GRID, "splitter": ["words", "whole-document"]})
    (error,) = bare.refused("check", code=2)["errors"]
    assert error["what"] == "'whole-document' is a baseline"
    assert 'baselines = ["whole-document"]' in error["fix"]


@pytest.mark.parametrize("search", [GRID, TPE], ids=["grid", "tpe"])
def test_what_is_prepended_is_searched_embedded_and_paid_for(project: Project, search):
    project.configure(search={**search, "trials": 8, "prepend": [[], ["heading"]]})
    swept = project.ok("sweep")
    assert swept["trials"]["complete"] == 8
    runs = project.runs("trial")
    prepended = [r for r in runs if r.data.params.get("prepend") == "heading"]
    plain = [r for r in runs if "prepend" not in r.data.params]
    assert prepended and plain
    same = {(r.data.params["chunk_size"], r.data.params["overlap"]): r for r in plain}
    pairs = [(p, same[key]) for p in prepended if (key := (p.data.params["chunk_size"], p.data.params["overlap"])) in same]
    assert search is TPE or len(pairs) == 4
    for with_heading, without in pairs:
        assert with_heading.data.metrics["index_ratio"] > without.data.metrics["index_ratio"]
        assert with_heading.data.metrics["dev/ceiling"] == without.data.metrics["dev/ceiling"], "it can't hold evidence"
    assert project.ok("sweep")["trials"] == swept["trials"]


def test_a_locked_prefix_is_part_of_the_lock_and_of_its_chunking(project: Project):
    project.configure(search={**GRID, "prepend": [["heading"]]})
    project.ok("sweep")
    assert project.ok("lock")["params"]["prepend"] == "heading"
    assert 'prepend = "heading"' in (project.root / "exp.lock.toml").read_text("utf-8")
    project.ok("holdout")
    assert project.ok("audit")["findings"] == []


def test_another_way_to_prepend_is_another_study(project: Project):
    project.ok("sweep")
    project.configure(search={**GRID, "prepend": [[], ["heading"]]})
    assert "search space prepend" in project.refused("sweep")["errors"][0]["what"]


def test_the_sizes_that_were_achieved_are_logged(swept: Project):
    for run in swept.runs("trial"):
        m, size = run.data.metrics, int(run.data.params["chunk_size"])
        assert m["chunk_size_p05"] <= m["chunk_size_p50"] <= m["chunk_size_p95"] <= m["chunk_size_max"] <= size
        assert m["oversize_share"] == 0.0 <= m["undersize_share"] < 1.0
        assert (m["mean_overlap"] > 0) == (run.data.params["overlap"] != "0")


def test_baselines_are_part_of_the_estimate(bare: Project):
    bare.configure(search={**GRID, "baselines": BASELINES})
    found = bare.ok("estimate")
    assert {p["splitter"] for p in found["points"]} == {"words", *BASELINES}
    assert found["trials"] == GRID["trials"] + len(BASELINES)
    assert "from all points" in bare.run("estimate", "exp.toml").out


def test_options_that_changed_since_the_lock_are_named_by_holdout_and_audit(project: Project):
    search = {**GRID, "splitter": ["recursive"]}
    project.configure(search=search, **{"splitters.recursive": {"keep_separator": "end"}})
    project.ok("sweep")
    assert project.ok("lock")["params"]["options"] == {"keep_separator": "end"}
    for changed in ({"keep_separator": "start"}, {"keep_separator": "end", "strip_whitespace": False}):
        project.settings.pop("splitters.recursive")
        project.configure(**{"splitters.recursive": changed})
        what = "the options of splitter 'recursive' are not those that were locked"
        assert what in project.refused("holdout")["errors"][0]["what"]
        (finding,) = project.refused("audit", code=1)["findings"]
        assert what in finding["what"] and "restore [splitters.recursive]" in finding["fix"]
    project.settings.pop("splitters.recursive")
    project.configure(**{"splitters.recursive": {"keep_separator": "end"}})
    project.ok("holdout")
    assert project.ok("audit")["findings"] == []


def test_sizes_are_held_against_their_own_point_where_an_earlier_evaluation_is_used_again(project: Project):
    project.configure(search={**GRID, "chunk_size": [400, 4000], "overlap_ratio": [0.0]})
    project.ok("sweep")
    shares = {r.data.params["chunk_size"]: r.data.metrics["undersize_share"] for r in project.runs("trial")}
    assert shares == {"400": 1.0, "4000": 1.0}
    project.configure(experiment={"name": "other"}, search={**GRID, "chunk_size": [100, 160, 400], "overlap_ratio": [0.0]})
    project.ok("sweep")
    shares = {r.data.params["chunk_size"]: r.data.metrics["undersize_share"] for r in project.runs("trial", "other")}
    assert shares["100"] < shares["400"] == 1.0


def test_options_are_on_the_runs_and_a_changed_one_is_named(project: Project):
    project.configure(search={**GRID, "splitter": ["recursive"]})
    project.file.write_text(project.file.read_text("utf-8") + '\n[splitters.recursive]\nseparators = [". ", " "]\n', "utf-8")
    project.ok("sweep")
    assert {r.data.tags["splitter.recursive.options"] for r in project.runs()} == {'{"separators": [". ", " "]}'}
    project.file.write_text(project.file.read_text("utf-8").replace('[". ", " "]', '[" "]'), "utf-8")
    (error,) = project.refused("sweep")["errors"]
    assert "splitter versions: recursive" in error["what"]
    assert """'separators': [' ']""" in error["what"]
