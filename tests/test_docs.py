"""What the documentation says, tried."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness import experiment, experiment_file, splitters
from harness.cli import cli

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("experiments/*.md"), *ROOT.glob("data/*/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_relative_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)\)", page.read_text("utf-8"))
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []


def test_the_readme_s_own_corpus_runs_as_it_stands(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    sections, questions = re.findall(r"```csv\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "sections.csv").write_text(sections, "utf-8")
    (tmp_path / "questions.csv").write_text(questions, "utf-8")
    (toml,) = re.findall(r"```toml\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "mine.toml").write_text(toml, "utf-8")
    (tmp_path / "pyproject.toml").touch()
    assert experiment.load(tmp_path / "mine.toml").name == "mine"
    done = CliRunner().invoke(cli, ["run", str(tmp_path / "mine.toml"), "--trials", "3"], standalone_mode=False)
    assert done.exception is None, done.output
    assert done.return_value == 0
    assert "hit@1 1/1" in done.output


def test_the_reference_shows_every_key_of_the_experiment_file_with_its_default() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "experiment-file.md").read_text("utf-8"), re.DOTALL)
    uncommented = re.sub(r"^# (?=\w+ = )", "", block, flags=re.MULTILINE)
    shown = tomllib.loads(re.sub(r'= "\.\.\."', '= "x"', uncommented))
    for name, field in experiment_file.File.model_fields.items():
        if name not in ("embedder", "splitters"):
            assert set(shown[name]) == set(field.annotation.model_fields), name  # type: ignore[union-attr]
    model = experiment.embedders.EMBEDDERS["sentence-transformers"].Options
    assert set(shown["embedder"]) == {"type", "similarity", *model.model_fields}
    for section, key in (("search", "trials"), ("search", "seed"), ("scoring", "k"), ("selection", "key"), ("threshold", "rule")):
        default = experiment_file.File.model_fields[section].annotation.model_fields[key].default  # type: ignore[union-attr]
        assert shown[section][key] == default


def test_the_page_on_splitters_shows_every_splitter_and_every_option_with_its_default() -> None:
    page = (ROOT / "docs" / "splitters.md").read_text("utf-8")
    assert [name for name in splitters.EVERY if f"`{name}`" not in page] == []
    shown: dict[str, dict[str, object]] = {}
    for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL):
        shown |= tomllib.loads(block)["splitters"]
    defaults = {name: splitter.Options().model_dump() for name, splitter in splitters.SPLITTERS.items()}
    assert shown == {name: options for name, options in defaults.items() if options}


def test_the_command_line_s_verbs_are_all_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [verb for verb in cli.commands if f"harness {verb}" not in readme] == []
