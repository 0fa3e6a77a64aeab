"""Stories on real data begin with what is there: the raw file, the same packed, or neither."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

matplotlib = pytest.importorskip("matplotlib")
EXAMPLES = Path(__file__).parent.parent / "examples"
PARTS = {"20news-bydate-train": 60, "20news-bydate-test": 30}
WORDS = {
    "rec.autos": ["engine", "wheel", "road"],
    "sci.space": ["orbit", "moon", "road"],
    "sci.med": ["doctor", "dose", "moon"],
}


def articles(part):
    """Group and words of articles; every fifth was posted in another group."""
    rng = np.random.default_rng(len(part))
    for number in range(PARTS[part]):
        about, other, _ = rng.permutation(list(WORDS))
        posted = other if number % 5 == 0 else about
        yield posted, rng.choice(WORDS[about], 6).tolist()


def told(folder, monkeypatch, capsys, story="17_news"):
    matplotlib.use("Agg")
    monkeypatch.setenv("MERCER_DATA", str(folder))
    names = runpy.run_path(str(EXAMPLES / f"plot_{story}.py"))
    matplotlib.pyplot.close("all")
    return names, capsys.readouterr().out


def test_from_the_raw_texts_every_mistake_has_its_subject(tmp_path, monkeypatch, capsys):
    for part in PARTS:
        for number, (group, words) in enumerate(articles(part)):
            (tmp_path / part / group).mkdir(parents=True, exist_ok=True)
            text = f"From: x\nSubject: {part} {number}\n\n{' '.join(words)}\n"
            (tmp_path / part / group / str(number)).write_text(text)
    names, said = told(tmp_path, monkeypatch, capsys)
    assert "made up" not in said
    assert "60 articles to train with" in said
    assert "30 later articles" in said
    subjects = re.findall(r"^Subject: 20news-bydate-test \d+$", said, flags=re.MULTILINE)
    assert len(subjects) == min(8, names["wrong"].size) > 0
    assert "Article" not in said


def test_where_only_the_weights_are_there_it_says_so(tmp_path, monkeypatch, capsys):
    (groups, texts), (later_groups, later) = (
        zip(*((group, " ".join(words)) for group, words in articles(part)), strict=True)
        for part in PARTS
    )
    weights, classes = TfidfVectorizer().fit(texts), np.array(sorted(WORDS))
    parts = {"classes": classes}
    for start, y, rows, labels in (
        ("", "y", texts, groups),
        ("test_", "y_test", later, later_groups),
    ):
        X = sp.csr_array(weights.transform(rows))
        parts |= {f"{start}{name}": getattr(X, name) for name in ("data", "indices", "indptr")}
        parts |= {f"{start}shape": X.shape, y: np.searchsorted(classes, labels)}
    np.savez(tmp_path / "news20_tfidf.npz", **parts)
    names, said = told(tmp_path, monkeypatch, capsys)
    assert "and no texts: the story begins with the weights of words" in said
    assert "60 articles to train with" in said
    assert len(re.findall(r"^Article \d+$", said, flags=re.MULTILINE)) == min(
        8, names["wrong"].size
    )
    assert "Subject" not in said


def test_without_either_the_articles_are_made_up_as_raw_files(tmp_path, monkeypatch, capsys):
    _, said = told(tmp_path, monkeypatch, capsys)
    assert "the articles are made up" in said
    assert "Subject: " in said


def packed(texts, y):
    """Texts as one array of letters, and where each begins."""
    letters = [text.encode() for text in texts]
    cuts = np.cumsum([0, *map(len, letters)])
    return {"text_bytes": np.frombuffer(b"".join(letters), np.uint8), "text_offsets": cuts, "y": y}


def test_messages_are_read_from_the_raw_file(tmp_path, monkeypatch, capsys):
    """A message may hold a tab and letters beyond ASCII; a line without text is none."""
    texts = [f"win £{i}\tnow" if i % 2 else f"see you at {i}" for i in range(40)]
    lines = [f"{'spam' if i % 2 else 'ham'}\t{text}" for i, text in enumerate(texts)]
    raw = tmp_path / "SMSSpamCollection"
    raw.write_text("\n".join(lines) + "\n", encoding="utf-8")
    names, said = told(tmp_path, monkeypatch, capsys, "12_sms_spam")
    assert names["texts"] == texts
    assert names["y"].tolist() == ["ham", "spam"] * 20
    assert "made up" not in said
    raw.unlink()
    np.savez(tmp_path / "sms_spam_text.npz", **packed(texts, np.tile([-1, 1], 20)))
    again, _ = told(tmp_path, monkeypatch, capsys, "12_sms_spam")
    assert again["texts"] == texts
    np.testing.assert_array_equal(again["f"], names["f"])


def test_sequences_are_read_from_the_raw_file(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    letters = rng.choice(list("ACGT"), size=(60, 60))
    classes = np.tile(["EI", "IE", "N"], 20)
    letters[classes == "EI", 30:36], letters[classes == "IE", 24:30] = (
        list("GTAAGT"),
        list("TTGCAG"),
    )
    texts = ["".join(row) for row in letters]
    lines = [f"{classes[i]},  HUMAN-{i},     {text}" for i, text in enumerate(texts)]
    raw = tmp_path / "splice.data"
    raw.write_text("\n".join(lines) + "\n", encoding="utf-8")
    names, said = told(tmp_path, monkeypatch, capsys, "13_splice_junctions")
    assert names["X"] == texts
    assert names["y"].tolist() == [0, 1, 2] * 20
    assert "made up" not in said
    raw.unlink()
    np.savez(tmp_path / "splice_junction_dna.npz", **packed(texts, np.tile([0, 1, 2], 20)))
    again, _ = told(tmp_path, monkeypatch, capsys, "13_splice_junctions")
    np.testing.assert_array_equal(again["predicted"], names["predicted"])


@pytest.mark.parametrize("story", ["12_sms_spam", "13_splice_junctions"])
def test_without_a_file_one_is_made_up_that_leaves_mistakes(tmp_path, monkeypatch, capsys, story):
    names, said = told(tmp_path, monkeypatch, capsys, story)
    assert "are made up" in said
    assert len(names["worst" if story.startswith("12") else "wrong"]) > 0
