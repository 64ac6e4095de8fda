from __future__ import annotations

import base64
import hashlib
import socket
import sys
import threading
import time
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.prompt import tokenizer
from pytest_convo.prompt.estimate import Estimator
from pytest_convo.prompt.tokenizer import PIECE, Remembering, Vocabulary, pieces, tokenizer_for

CACHES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")


@pytest.fixture(autouse=True)
def afresh(monkeypatch, tmp_path):
    """Tokenizers are kept for a process; these tests have an empty cache of tiktoken's each, and no network."""

    def refuse(*args):
        pytest.fail("a connection was tried")

    for name in CACHES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(CACHES[0], str(tmp_path))
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    forget()
    yield
    forget()


def forget():
    for kept in (tokenizer._estimator, tokenizer._tiktoken, tokenizer._encoding):
        kept.cache_clear()


class FakeEncoding:
    """A token a byte; as in tiktoken, half a surrogate pair is replaced."""

    def __init__(self, name, *, pat_str, mergeable_ranks, special_tokens):
        self.longest = 0

    def encode_ordinary(self, text):
        self.longest = max(self.longest, len(text))
        return list(text.encode(errors="replace"))


@pytest.fixture
def fake(monkeypatch):
    """A tiktoken that knows one model and makes encodings of what it is given; anything else in it is an error."""
    names = {"gpt-4o": "o200k_base", "gpt-4": "cl100k_base", "gpt-oss-20b": "o200k_harmony", "davinci": "r50k_base"}
    made = []

    def encoding(*args, **further):
        made.append(FakeEncoding(*args, **further))
        return made[-1]

    module = ModuleType("tiktoken")
    module.encoding_name_for_model = names.__getitem__
    module.Encoding = encoding
    monkeypatch.setitem(sys.modules, "tiktoken", module)
    return SimpleNamespace(made=made)


def vocabulary(monkeypatch, folder, *, name="o200k_base", data=None, known=None):
    """Lay a small vocabulary where tiktoken keeps that of this name; `known` is the data whose digest is expected."""
    if data is None:
        words = [bytes([byte]) for byte in range(256)] + [b"he", b"ll", b"hell", b"hello"]
        data = b"\n".join(base64.b64encode(word) + b" " + str(rank).encode() for rank, word in enumerate(words))
    ours = tokenizer.VOCABULARIES[name]
    small = Vocabulary("small", hashlib.sha256(known or data).hexdigest(), ours.pattern)
    monkeypatch.setitem(tokenizer.VOCABULARIES, name, small)
    folder.mkdir(exist_ok=True)
    (folder / hashlib.sha1(small.url.encode()).hexdigest()).write_bytes(data)
    return small


def test_without_tiktoken_it_is_an_estimate(monkeypatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    found = tokenizer_for("gpt-4o")

    assert (found.name, found.exact) == ("estimate", False)
    assert found.count("Hello, world!") == Estimator().count("Hello, world!")


@pytest.mark.parametrize("model", [None, "", "a-model-of-ours", "someone/a-model-of-ours", "davinci"])
def test_a_model_that_is_not_known_is_estimated(fake, monkeypatch, tmp_path, model):
    vocabulary(monkeypatch, tmp_path)

    assert tokenizer_for(model).name == "estimate"


def test_without_the_data_it_is_an_estimate(fake):
    assert tokenizer_for("gpt-4o").name == "estimate"
    assert fake.made == []


@pytest.mark.parametrize("model", ["gpt-4o", "openai/gpt-4o", "broker/openai/gpt-4o"])
def test_with_tiktoken_and_its_data_it_is_exact(fake, monkeypatch, tmp_path, model):
    vocabulary(monkeypatch, tmp_path)
    found = tokenizer_for(model)

    assert (found.name, found.exact, found.count("four")) == ("o200k_base", True, 4)


def test_an_estimate_may_be_wanted(fake, monkeypatch, tmp_path):
    vocabulary(monkeypatch, tmp_path)

    assert tokenizer_for("gpt-4o", "estimate").name == "estimate"


def test_a_file_with_other_content_is_not_taken_and_stays(fake, monkeypatch, tmp_path):
    vocabulary(monkeypatch, tmp_path, data=b"AA== 0\n", known=b"what it was")

    assert tokenizer_for("gpt-4o").name == "estimate"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("variable", CACHES)
def test_the_cache_is_where_tiktoken_has_it(fake, monkeypatch, tmp_path, variable):
    vocabulary(monkeypatch, tmp_path / "here")
    monkeypatch.delenv(CACHES[0])
    monkeypatch.setenv(variable, str(tmp_path / "here"))

    assert tokenizer_for("gpt-4o").exact


def test_without_a_setting_the_cache_is_in_the_temporary_directory(fake, monkeypatch, tmp_path):
    vocabulary(monkeypatch, tmp_path / "data-gym-cache")
    monkeypatch.delenv(CACHES[0])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert tokenizer_for("gpt-4o").exact


def test_an_empty_setting_means_no_cache(fake, monkeypatch, tmp_path):
    vocabulary(monkeypatch, tmp_path)
    monkeypatch.setenv(CACHES[0], "")
    monkeypatch.setenv(CACHES[1], str(tmp_path))

    assert tokenizer_for("gpt-4o").name == "estimate"


def test_a_tokenizer_is_made_once(fake, monkeypatch, tmp_path):
    vocabulary(monkeypatch, tmp_path)

    assert tokenizer_for("gpt-4o") is tokenizer_for("openai/gpt-4o")
    assert tokenizer_for(None) is tokenizer_for("no such model")
    assert len(fake.made) == 1


def test_long_texts_are_given_to_it_in_pieces(fake, monkeypatch, tmp_path):
    vocabulary(monkeypatch, tmp_path)

    assert tokenizer_for("gpt-4o").count("a" * 1_000_000) == 1_000_000
    assert fake.made[0].longest == PIECE


# -- the real one


@pytest.fixture
def real(monkeypatch):
    """The installed tiktoken, which must read nothing by itself: what it lacks it would download."""
    tiktoken = pytest.importorskip("tiktoken")
    load = pytest.importorskip("tiktoken.load")
    for name in ("read_file", "read_file_cached", "load_tiktoken_bpe"):
        monkeypatch.setattr(load, name, lambda *args, **further: pytest.fail("tiktoken read a file"))
    return tiktoken


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4", "gpt-oss-20b", "openai/gpt-5-mini", "davinci-002"])
def test_the_real_one_downloads_nothing(real, model):
    assert tokenizer_for(model).name == "estimate"


@pytest.mark.parametrize("data", [b"", b"AA== 0\n"])
def test_the_real_one_downloads_nothing_where_the_data_is_another(real, monkeypatch, tmp_path, data):
    vocabulary(monkeypatch, tmp_path, data=data, known=b"what it was")

    assert tokenizer_for("gpt-4o").name == "estimate"


@pytest.mark.parametrize(("model", "name"), [("gpt-4o", "o200k_base"), ("gpt-4", "cl100k_base")])
def test_the_real_one_counts_with_the_data(real, monkeypatch, tmp_path, model, name):
    vocabulary(monkeypatch, tmp_path, name=name)
    found = tokenizer_for(model)

    assert (found.name, found.exact) == (name, True)
    assert [found.count(text) for text in ("hello", "hellhe", "<|endoftext|>", "\ud83d", "é")] == [1, 2, 13, 3, 2]


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "o200k_harmony"])
def test_what_we_know_of_a_vocabulary_is_what_the_real_one_has(real, monkeypatch, name):
    public = pytest.importorskip("tiktoken_ext.openai_public")
    asked = {}
    monkeypatch.setattr(public, "load_tiktoken_bpe", lambda url, expected_hash: asked.update({url: expected_hash}))
    theirs, ours = public.ENCODING_CONSTRUCTORS[name](), tokenizer.VOCABULARIES[name]

    assert theirs["pat_str"] == ours.pattern
    assert asked == {ours.url: ours.sha256}


@pytest.mark.parametrize("unit", ["a", "^", " ", "\n", "aB1", "\ud83d"])
def test_a_million_characters_are_counted_by_the_real_one(real, monkeypatch, tmp_path, unit):
    vocabulary(monkeypatch, tmp_path)
    begin = time.perf_counter()

    assert tokenizer_for("gpt-4o").count(unit * (1_000_000 // len(unit))) > 0
    assert time.perf_counter() - begin < 10


# -- pieces


@given(st.text(st.sampled_from("ab .\n")), st.integers(1, 3))
def test_pieces_are_the_text(text, times):
    text *= times * 2_000
    found = list(pieces(text))

    assert "".join(found) == text
    assert max(map(len, found)) <= PIECE


def test_a_text_is_cut_before_a_word():
    text = "some words, " * 5_000
    found = list(pieces(text))

    assert len(found) > 1
    assert all(piece.startswith((" some", " words")) for piece in found[1:])


# -- what is remembered


def counting():
    asked = []
    return Remembering("any", exact=True, count=lambda text: asked.append(text) or len(text)), asked


def test_a_text_is_counted_once():
    found, asked = counting()
    texts = ["one", "other", "on" + "e"]

    assert [found.count(text) for text in texts * 2] == [3, 5, 3] * 2
    assert asked == ["one", "other"]


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(tokenizer, "KNOWN", 10)
    found, _ = counting()
    for number in range(1000):
        assert found.count("x" * number) == number

    assert len(found._known) <= 10


@given(st.lists(st.text()))
def test_what_is_remembered_is_what_is_counted(texts):
    found = Remembering("estimate", exact=False, count=Estimator().count)
    fresh = [Estimator().count(text) for text in texts]

    assert [found.count(text) for text in texts * 2] == fresh * 2


def test_two_thousand_known_texts_take_no_time():
    found = tokenizer_for(None)
    texts = [f"{number} " + "words and words " * 100 for number in range(2_000)]
    for text in texts:
        found.count(text)
    taken = []
    for _ in range(5):
        begin = time.perf_counter()
        for text in texts:
            found.count(text)
        taken.append(time.perf_counter() - begin)

    assert min(taken) < 0.01


def test_threads_count_the_same(monkeypatch):
    monkeypatch.setattr(tokenizer, "KNOWN", 50)
    found, wrong = counting()[0], []

    def count():
        wrong.extend(number for number in range(2_000) if found.count("x" * (number % 97)) != number % 97)

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
