"""A published example of 168 characters: four windows of 60 with an overlap of 15, three chunks of whole sentences up to 70.

Only the shape of the text is kept, its letters are not; cuts depend on nothing else.
"""

from __future__ import annotations

from making import one

from harness.records import Point
from harness.splitters import chunk
from harness.tokenizers import Ruler

TEXT = (
    "Xxx xxxxxx xxxxxxxxx xxxx xxxxxx. Xxxx xxxxx xx xxxxxxxx. "
    "Xx xxxxxxxx xxxx xxx xxxxxxx xxxxxx xxx xxxxxxxxx. "
    "Xxxx xxx xxxxxx xx xxx xxxxxx. Xxx xxxxx xxxxxxx xxxx xxxx."
)


def cut(splitter, size, ratio):
    corpus = one(TEXT)
    return chunk(corpus, Point(splitter, size, ratio), Ruler(corpus, "characters"))


def test_fixed_windows_cut_words_in_half():
    made = cut("characters", 60, 0.25)
    assert made.texts() == [
        "Xxx xxxxxx xxxxxxxxx xxxx xxxxxx. Xxxx xxxxx xx xxxxxxxx. Xx",
        "xx xxxxxxxx. Xx xxxxxxxx xxxx xxx xxxxxxx xxxxxx xxx xxxxxxx",
        "xxx xxx xxxxxxxxx. Xxxx xxx xxxxxx xx xxx xxxxxx. Xxx xxxxx ",
        "xxx. Xxx xxxxx xxxxxxx xxxx xxxx.",
    ]
    assert made.size.tolist() == [60, 60, 60, 33]


def test_sentences_stay_whole():
    made = cut("sentences", 70, 0.0)
    assert made.texts() == [
        "Xxx xxxxxx xxxxxxxxx xxxx xxxxxx. Xxxx xxxxx xx xxxxxxxx.",
        "Xx xxxxxxxx xxxx xxx xxxxxxx xxxxxx xxx xxxxxxxxx.",
        "Xxxx xxx xxxxxx xx xxx xxxxxx. Xxx xxxxx xxxxxxx xxxx xxxx.",
    ]
