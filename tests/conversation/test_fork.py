"""A conversation's directory is copied beside it as it was, or not at all."""

import os
import shutil
import socket
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation import fork as forking
from pytest_convo.conversation.disk import digest
from pytest_convo.conversation.fork import Before, fork, next_sibling
from pytest_convo.errors import ConvoError

REFUND = {
    "0000_user.md": "Hello?\n",
    "0001_assistant.md": "Yes.\n",
    "convo.toml": "",
    "__recordings__/parts/ab.md": "part",
    "prompts/deep/x.md": b"\xff\x00",
}


def portrait(directory):
    """Everything below a directory: bytes or the link's target, mode, time."""
    found = {}
    for path in [directory, *directory.rglob("*")]:
        status = path.lstat()
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(directory))] = (content, stat.S_IMODE(status.st_mode), status.st_mtime_ns)
    return found


def before(path):
    status = path.stat()
    return Before(path.read_bytes(), stat.S_IMODE(status.st_mode), status.st_mtime_ns)


def names(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def refund(make):
    directory = make(REFUND, "refund")
    for number, path in enumerate(sorted(directory.rglob("*"), reverse=True)):
        path.chmod(0o500 if path.is_dir() else 0o640 - number % 2 * 0o200)
        os.utime(path, ns=(10**18 + number, 10**18 + number))
    return directory


def test_bytes_modes_and_times_stay(refund):
    was = portrait(refund)
    kept = fork(refund)

    assert kept == refund.with_name("refund-0001")
    assert portrait(kept) == portrait(refund) == was
    assert names(refund.parent) == ["refund", "refund-0001"]


def test_it_is_as_before_the_edit(make):
    refund = make(REFUND, "refund")
    was = portrait(refund)
    message, answer, prompt = (refund / name for name in ("0000_user.md", "0001_assistant.md", "prompts/deep/x.md"))
    changed = {
        message: before(message),
        Path(answer.name): before(answer),
        prompt: before(prompt),
        refund / "0003_user.md": None,
    }
    message.write_text("Good morning!\n")
    answer.unlink()
    shutil.rmtree(prompt.parent)
    (refund / "0003_user.md").write_text("new")

    kept = portrait(fork(refund, changed))
    edited = {".", "prompts", "prompts/deep"}  # directories whose times the edit has moved
    assert {name: kept[name] for name in kept.keys() - edited} == {name: was[name] for name in was.keys() - edited}
    assert kept.keys() == was.keys()
    assert message.read_text() == "Good morning!\n"


def test_files_elsewhere_are_none_of_its_business(refund, tmp_path):
    kept = fork(refund, {tmp_path / "prompt.md": Before(b"old", 0o600, 1), Path("../x.md"): None, refund: None})
    assert portrait(kept) == portrait(refund)


def test_a_directory_is_known_whichever_link_leads_to_it(refund, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / ".")
    kept = fork(tmp_path / "link/refund", {refund.resolve() / "0000_user.md": Before(b"old", 0o600, 1)})
    assert (kept / "0000_user.md").read_bytes() == b"old"

    kept = fork(refund, {tmp_path / "link/refund/0000_user.md": Before(b"older", 0o600, 1)})
    assert (kept / "0000_user.md").read_bytes() == b"older"


def test_a_link_to_a_conversation_is_kept_beside_the_link(refund, tmp_path):
    (tmp_path / "other").mkdir()
    link = tmp_path / "other/refund"
    link.symlink_to(refund)
    kept = fork(link, {link / "0000_user.md": Before(b"old", 0o600, 1)})
    assert kept == tmp_path / "other/refund-0001"
    assert (kept / "0000_user.md").read_bytes() == b"old"
    assert (kept / "0001_assistant.md").read_text() == "Yes.\n"


def test_links_stay_links(make, tmp_path):
    (tmp_path / "shared.md").write_text("shared")
    links = {"0000_user.md": "../shared.md", "0002_user.md": "/nowhere", "loop": "loop", "up": "..", "prompts": "."}
    refund = make({name: lambda path, to=to: path.symlink_to(to) for name, to in links.items()}, "refund")
    kept = fork(refund)
    assert {path.name: str(path.readlink()) for path in kept.iterdir()} == links
    assert (kept / "0000_user.md").read_text() == "shared"
    assert portrait(kept) == portrait(refund)


def test_what_a_link_led_to_is_kept_where_it_changed(make, tmp_path):
    (tmp_path / "shared.md").write_text("changed")
    refund = make({"0000_user.md": lambda path: path.symlink_to("../shared.md")}, "refund")
    kept = fork(refund, {refund / "0000_user.md": Before(b"shared", 0o600, 1)})
    assert (kept / "0000_user.md").read_bytes() == b"shared"


def test_what_is_left_out(make):
    refund = make(
        {
            "0000_user.md": "Hello?",
            "0001_assistant.md.partial": "Ye",
            "0003_assistant.md.new": "kept: nobody else has it",
            "__pycache__/conftest.pyc": "",
            "tools/__pycache__/tools.pyc": "",
            "tools/tools.py": "",
            "other/0000_user.md": "",
            "other/prompt.md": "",
            "several/one/0000_user.md.j2": "",
            "several/one/deep/notes.md": "",
            "prompts/0000_user.md/notes.md": "",
            ".convo/runs/x/0000_user.md": "",
            "empty": Path.mkdir,
            "pipe": os.mkfifo,
        },
        "refund",
    )
    server = socket.socket(socket.AF_UNIX)
    with tempfile.TemporaryDirectory() as directory:  # the name of a socket is short
        short = Path(directory, "refund")
        short.symlink_to(refund)
        server.bind(f"{short}/socket")
    server.close()

    kept = fork(refund)
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*")) == [
        "0000_user.md",
        "0003_assistant.md.new",
        "empty",
        "prompts",
        "prompts/0000_user.md",
        "prompts/0000_user.md/notes.md",
        "tools",
        "tools/tools.py",
    ]


def test_what_was_a_conversation_before_the_edit_is_left_out_too(make):
    refund = make({"0000_user.md": "", "was/notes.md": "", "is/0000_user.md": "", "is/notes.md": ""}, "refund")
    was = Before(b"", 0o600, 1)
    kept = fork(refund, {Path("was/0000_user.md"): was, Path("is/0000_user.md"): None, Path("gone/0000_user.md"): was})
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*")) == ["0000_user.md", "is", "is/notes.md"]


def test_files_and_directories_may_have_changed_places(make):
    refund = make({"0000_user.md": "", "file/x.md": "", "directory": ""}, "refund")
    was = Before(b"old", 0o600, 1)
    kept = fork(
        refund, {Path("file"): was, Path("file/x.md"): None, Path("directory/y.md"): was, Path("directory"): None}
    )
    assert (kept / "file").read_bytes() == b"old"
    assert (kept / "directory/y.md").read_bytes() == b"old"


# -- names


@pytest.mark.parametrize(
    ("directory", "others", "expected"),
    [
        ("refund", [], "refund-0001"),
        ("refund", ["refund-0001", "refund-0007"], "refund-0008"),
        ("refund-0001", ["refund"], "refund-0002"),
        ("refund-0001", ["refund-0004"], "refund-0005"),
        (
            "refund",
            ["refund-", "refund-12", "refund-abcd", "refund-00003", "refund-0002x", "xrefund-0009"],
            "refund-0001",
        ),
        ("refund", ["refund-²²²²", "refund-٠٠٠٣", "Refund-0005", "refund-0001-0003", "refund--001"], "refund-0001"),
        ("refund.*", ["refundxx-0004"], "refund.*-0001"),
        ("-0001", [], "-0001-0001"),
        ("refund-0001-0001", ["refund-0001"], "refund-0001-0002"),
        ("two\nlines-0001", [], "two\nlines-0002"),
        (
            os.fsdecode(b"r\xfcck"),
            [os.fsdecode(b"r\xfcck-0003"), os.fsdecode(b"\xff-0009")],
            os.fsdecode(b"r\xfcck-0004"),
        ),
    ],
)
def test_the_next_number_is_free(tmp_path, directory, others, expected):
    for name in (directory, *others):
        (tmp_path / name).mkdir()
    (tmp_path / directory / "0000_user.md").touch()

    assert next_sibling(tmp_path / directory) == tmp_path / expected
    assert fork(tmp_path / directory).name == expected


def test_whatever_has_a_name_has_it(tmp_path):
    (tmp_path / "refund").mkdir()
    (tmp_path / "refund-0002").touch()
    (tmp_path / "refund-0003").symlink_to("nothing")
    assert next_sibling(tmp_path / "refund").name == "refund-0004"


@given(st.lists(st.text("refund-01x", min_size=1, max_size=12), max_size=8))
def test_no_name_of_a_sibling_is_in_the_way(others):
    with tempfile.TemporaryDirectory() as directory:
        for name in {"refund", *others}:
            Path(directory, name).mkdir()
        there = names(Path(directory))
        kept = fork(Path(directory, "refund"))
        assert kept.name not in there
        assert names(Path(directory)) == sorted([*there, kept.name])


def test_the_working_directory_has_a_name_too(refund, monkeypatch):
    monkeypatch.chdir(refund)
    assert next_sibling(".") == refund.with_name("refund-0001")
    assert fork(Path("prompts/..")) == refund.with_name("refund-0001")


def test_numbers_end(refund):
    refund.with_name("refund-9999").touch()
    with pytest.raises(ConvoError, match="there is a refund-9999 already"):
        fork(refund)


# -- several at once


def test_a_number_that_was_taken_meanwhile_is_left_to_who_has_it(refund, monkeypatch):
    def taken(here):
        found = next_sibling(here)
        found.mkdir()
        return found

    monkeypatch.setattr(forking, "next_sibling", taken)
    assert fork(refund).name == "refund-0002"
    assert names(refund.with_name("refund-0001")) == []


def test_numbers_that_were_all_taken_meanwhile(refund, monkeypatch):
    refund.with_name("refund-9999").touch()
    monkeypatch.setattr(forking, "next_sibling", lambda here: here.with_name("refund-9999"))
    with pytest.raises(ConvoError, match="refund-9999 already"):
        fork(refund)
    assert names(refund.parent) == ["refund", "refund-9999"]


def test_forks_at_once_have_numbers_of_their_own(refund):
    with ThreadPoolExecutor(8) as threads:
        kept = [job.result() for job in [threads.submit(fork, refund) for _ in range(16)]]
    assert sorted(path.name for path in kept) == [f"refund-{number:04}" for number in range(1, 17)]
    assert all(portrait(path) == portrait(refund) for path in kept)


def test_nobody_sees_half_of_it(refund, monkeypatch):
    seen = []

    def copy(source, target, **options):
        seen.append([path.name for path in refund.parent.iterdir() if path.name != "refund"])
        return shutil.copystat(source, shutil.copyfile(source, target, **options), **options)

    monkeypatch.setattr(shutil, "copy2", copy)
    fork(refund)
    assert seen
    assert all(name.startswith(".refund-0001.") for found in seen for name in found)


# -- what is announced


def test_each_file_is_announced_before_it_is_there(refund, tmp_path):
    (refund / "link.md").symlink_to("0000_user.md")
    (refund / "nowhere.md").symlink_to("nothing")
    told = []

    def announce(event):
        assert not Path(event["path"]).exists()
        told.append(event)

    kept = fork(refund, announce=announce)
    files = [path for path in kept.rglob("*") if path.is_file()]
    assert sorted(told, key=str) == sorted(
        ({"kind": "writes", "path": str(path), "digest": digest(path.read_bytes())} for path in files), key=str
    )
    assert len(told) == 6


# -- what goes wrong


def fails(*_args, **_options):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (shutil, "copy2"),
        (shutil, "copystat"),
        (os, "utime"),
        (Path, "rename"),
        (Path, "write_bytes"),
        (Path, "read_bytes"),
        (forking, "next_sibling"),
    ],
)
def test_a_copy_that_fails_leaves_nothing(refund, monkeypatch, where, name):
    changed = {refund / "0000_user.md": before(refund / "0000_user.md")}
    was = portrait(refund)
    with monkeypatch.context() as patch:
        patch.setattr(where, name, fails)
        with pytest.raises(ConvoError, match="could not be kept as a fork: No space left on device\n  nothing was"):
            fork(refund, changed)
    assert names(refund.parent) == ["refund"]
    assert portrait(refund) == was


@pytest.mark.parametrize("raised", [KeyboardInterrupt, ZeroDivisionError])
def test_what_breaks_it_off_leaves_nothing(refund, raised):
    def announce(_event):
        raise raised

    with pytest.raises(raised):
        fork(refund, announce=announce)
    assert names(refund.parent) == ["refund"]


def test_a_file_that_cannot_be_read_is_named(refund, monkeypatch):
    copy = shutil.copy2

    def forbidden(source, target, **options):
        if Path(source).name == "convo.toml":
            raise PermissionError(13, "Permission denied", str(source))
        return copy(source, target, **options)

    monkeypatch.setattr(shutil, "copy2", forbidden)
    with pytest.raises(ConvoError, match=r"refund/convo\.toml: .*: Permission denied"):
        fork(refund)
    assert names(refund.parent) == ["refund"]


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(ConvoError, match=r"gone: .*No such file or directory"):
        fork(tmp_path / "gone")
    assert names(tmp_path) == []


def test_it_never_goes_into_itself(refund):
    (refund / "inside").symlink_to(refund)
    with pytest.raises(ConvoError, match="cannot be kept beside itself"):
        fork(refund / "inside")
    with pytest.raises(ConvoError, match="cannot be kept beside itself"):
        fork("/")


# -- any directory, any edit

FILES = st.dictionaries(
    st.sampled_from(["0000_user.md", "0001_assistant.md", "a/b/x", "a/y", "c/x", "convo.toml", "d"]),
    st.tuples(st.binary(max_size=8), st.sampled_from([0o600, 0o644, 0o755]), st.integers(0, 2**60)),
    min_size=1,
)


@given(FILES, FILES)
def test_the_fork_is_what_was_there(then, now):
    with tempfile.TemporaryDirectory() as directory:
        refund = Path(directory, "refund")
        for name, (data, mode, time) in now.items():
            path = refund / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(mode)
            os.utime(path, ns=(time, time))
        changed = {
            Path(name): Before(*then[name]) if name in then else None
            for name in {*then, *now}
            if then.get(name) != now.get(name)
        }
        is_now = portrait(refund)
        kept = fork(refund, changed)
        assert {name: what for name, what in portrait(kept).items() if what[0] is not None} == then
        assert portrait(refund) == is_now
