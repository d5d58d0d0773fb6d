"""The shape of the code: data flows one way, and what is heavy or sealed is touched in one place.

The tiers are those of `[tool.importlinter]` in pyproject.toml, lowest last; a new module is entered there.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "harness"


def units() -> dict[str, list[Path]]:
    """The package's modules and folders by name; a folder is one unit with all of its files."""
    found: dict[str, list[Path]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        name = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if name != "__init__":
            found.setdefault(name, []).append(file)
    return found


@cache
def tiers() -> dict[str, int]:
    """Each unit's tier, 0 lowest."""
    linter = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (layers,) = [contract["layers"] for contract in linter["contracts"] if contract["type"] == "layers"]
    return {name: tier for tier, layer in enumerate(reversed(layers)) for name in re.findall(r"harness\.(\w+)", layer)}


@dataclass(frozen=True)
class Import:
    """A unit that imports a module, at a line of a file."""

    unit: str
    module: str
    where: str
    only_for_types: bool


@cache
def imports() -> tuple[Import, ...]:
    """Every import of the package, wherever in a file it stands."""
    found = []
    for unit, files in units().items():
        for file in files:
            tree = ast.parse(file.read_text("utf-8"))
            guarded = {
                id(inner)
                for node in ast.walk(tree)
                if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
                for inner in ast.walk(node)
            }
            for node in ast.walk(tree):
                where = f"{file.relative_to(REPOSITORY)} line {getattr(node, 'lineno', 0)}"
                for module in _modules(node):
                    found.append(Import(unit, module, where, id(node) in guarded))
    return tuple(found)


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        if node.module == "harness":
            return [f"harness.{alias.name}" for alias in node.names]
        return [node.module or ""]
    return []


def unit_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "harness" and len(parts) > 1 else None


@pytest.mark.parametrize("unit", units())
def test_every_module_has_a_tier(unit):
    assert unit in tiers(), (
        f"harness/{unit} has no tier: enter harness.{unit} in [tool.importlinter] layers of pyproject.toml, "
        "in the lowest tier that is above everything it imports"
    )


def test_every_tier_names_modules_that_exist():
    optional = set(re.findall(r"\(harness\.(\w+)\)", (REPOSITORY / "pyproject.toml").read_text("utf-8")))
    gone = set(tiers()) - set(units()) - optional
    assert not gone, f"pyproject.toml names modules that are gone: {', '.join(sorted(gone))}; delete them from layers"


@pytest.mark.parametrize("unit", units())
def test_a_module_imports_from_its_own_tier_or_lower_ones(unit):
    upward = [
        f"{i.where}: harness.{unit} (tier {tiers()[unit]}) imports {i.module} (tier {tiers()[target]})"
        for i in imports()
        if i.unit == unit and (target := unit_of(i.module)) in tiers() and unit in tiers() and tiers()[target] > tiers()[unit]
    ]
    assert not upward, "data flows one way; move what is needed down, or pass it in:\n" + "\n".join(upward)


def test_modules_import_each_other_in_no_circle():
    needs: dict[str, set[str]] = {unit: set() for unit in units()}
    for i in imports():
        target = unit_of(i.module)
        if target in needs and target != i.unit and not i.only_for_types:
            needs[i.unit].add(target)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(reversed(error.args[1]))}")


@pytest.mark.parametrize(
    ("library", "only"),
    [
        ("optuna", ("suggest", "importance")),
        ("mlflow", ("tracking",)),
        ("sentence_transformers", ("embedders",)),
        ("langchain_text_splitters", ("splitters",)),
        ("semantic_text_splitter", ("splitters",)),
    ],
)
def test_a_heavy_library_is_imported_in_one_place(library, only):
    elsewhere = [i.where for i in imports() if i.module.split(".")[0] == library and i.unit not in only]
    assert not elsewhere, f"{library} is imported by {', '.join(only)} only, not at {', '.join(elsewhere)}"
    assert {i.unit for i in imports() if i.module.split(".")[0] == library} == set(only)


def test_nothing_but_the_opening_of_the_holdout_mentions_unsealing():
    mention = {unit for unit, files in units().items() for f in files if "unseal" in f.read_text("utf-8").casefold()}
    assert mention == {"formats", "holdout"}, "the sweep and everything else must be unable to read a holdout's questions"


def test_holdout_questions_leave_the_formats_only_through_the_seal():
    """Reading labels from a source, given the corpus, gives the questions of both splits."""
    splitting = ("formats", "split_file")  # what decides on the split has to see both sides of it; no trial does
    text = "".join(f.read_text("utf-8") for unit, files in units().items() if unit not in splitting for f in files)
    assert "read_questions(" not in text
    assert not re.search(r"read_labels\(\s*[^)\s]", text.replace("def read_labels(self", ""))


def loaded_by(code: str) -> list[str]:
    """Top-level modules that a fresh interpreter has loaded after some code."""
    shown = f"{code}\nimport json, sys\nprint('\\n' + json.dumps(sorted(n for n in sys.modules if '.' not in n)))"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    return json.loads(done.stdout.splitlines()[-1])


HELP = """
from harness.__main__ import main
try:
    main(["--help"])
except SystemExit:
    pass
"""


@pytest.mark.parametrize(
    "code",
    ["import harness", "import harness.splitters, harness.experiment", HELP],
    ids=["import harness", "import harness.splitters", "harness --help"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code):
    loaded = set(loaded_by(code))
    assert "harness" in loaded
    heavy = {"mlflow", "torch", "optuna", "pandas", "sklearn", "sentence_transformers", "matplotlib"}
    heavy |= {"langchain_core", "langchain_text_splitters", "semantic_text_splitter"}
    early = heavy & loaded
    assert not early, f"{', '.join(sorted(early))} loaded too early: import it in the function that uses it"


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda f: str(f.relative_to(PACKAGE)))
def test_a_module_says_in_its_first_line_what_it_is(file):
    docstring = ast.get_docstring(ast.parse(file.read_text("utf-8")))
    assert docstring, f"{file.relative_to(REPOSITORY)} needs a docstring: one sentence that ends in how to extend it"


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda f: str(f.relative_to(PACKAGE)))
def test_input_is_never_checked_by_assert(file):
    asserts = [n.lineno for n in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(n, ast.Assert)]
    assert not asserts, f"{file.relative_to(REPOSITORY)} lines {asserts}: raise HarnessError for input, ValueError for bugs"
