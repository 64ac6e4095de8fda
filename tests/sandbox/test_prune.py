from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_convo.sandbox import cached
from pytest_convo.sandbox.prune import UNUSED, prune

if TYPE_CHECKING:
    from docker import DockerClient

DAY = 86400.0


def image(name: str, *, age: float = 0, tags: Sequence[str] | None = None, base: str = "") -> dict[str, Any]:
    made = time.time() - age
    labels = {cached.LABEL: "build", cached.CREATED: f"{int(made)}", cached.BASE: base, cached.HOLDS: "environment"}
    tags = [f"pytest-convo/build:{name}"] if tags is None else tags
    return {"Id": f"sha256:{name}", "Created": int(made), "RepoTags": tags, "Size": 5_000_000, "Labels": labels}


class Engine:
    """An engine with some images, which keeps those that are in use."""

    def __init__(self, images: Sequence[Mapping[str, Any]], in_use: Sequence[str] = ()) -> None:
        self.removed: list[str] = []
        self.api = SimpleNamespace(images=lambda filters: list(images))
        self.images = SimpleNamespace(get=self.get)
        self.in_use = in_use

    def get(self, _: str) -> SimpleNamespace:
        return SimpleNamespace(attrs={"Size": 2_000_000})

    def remove(self, name: str) -> None:
        from docker.errors import APIError

        if name in self.in_use:
            msg = "conflict"
            raise APIError(msg, explanation="image is being used by running container")
        self.removed.append(name)


def pruned(engine: Engine, folder: Path, older_than: float | None = None) -> list[str]:
    engine.api.remove_image = engine.remove
    return prune(cast("DockerClient", engine), older_than, lock_dir=folder)


def test_all_are_removed_and_what_is_based_on_another_first(tmp_path: Path) -> None:
    engine = Engine([image("old", age=2 * DAY), image("new", base="sha256:old")])
    told = pruned(engine, tmp_path)
    assert engine.removed == ["pytest-convo/build:new", "pytest-convo/build:old"]
    assert told == [
        "removed pytest-convo/build:new (environment): 3.0 MB, last used today",
        "removed pytest-convo/build:old (environment): 5.0 MB, last used 2 days ago",
        "8.0 MB are free again",
    ]


def test_what_was_used_lately_stays(tmp_path: Path) -> None:
    names = ("used", "unused", "young")
    engine = Engine([image(name, age=DAY if name == "young" else 30 * DAY) for name in names])
    cached.used("pytest-convo/build:used", tmp_path)
    cached.used("pytest-convo/build:unused", tmp_path)
    for path in tmp_path.glob("*unused*"):
        os.utime(path, (time.time() - 20 * DAY,) * 2)
    told = pruned(engine, tmp_path, UNUSED)
    assert engine.removed == ["pytest-convo/build:unused"]
    assert told[0].endswith("last used 20 days ago")


def test_images_of_others_that_are_based_on_ours_stay(tmp_path: Path) -> None:
    engine = Engine([image("x", tags=["their/tea:1"]), image("y", tags=["pytest-convo/build:y", "their/tea:2"])])
    assert pruned(engine, tmp_path) == []
    assert engine.removed == []


def test_what_is_in_use_stays_and_is_said(tmp_path: Path) -> None:
    engine = Engine([image("x"), image("y", age=5)], in_use=["pytest-convo/build:x"])
    told = pruned(engine, tmp_path)
    assert engine.removed == ["pytest-convo/build:y"]
    assert told[0] == "kept pytest-convo/build:x (environment): image is being used by running container"


def test_an_image_without_a_name_is_removed_by_its_id(tmp_path: Path) -> None:
    engine = Engine([image("x", tags=["<none>:<none>"])])
    pruned(engine, tmp_path)
    assert engine.removed == ["sha256:x"]


@pytest.mark.engine
def test_an_engine_finds_what_was_built(client: DockerClient, busybox: str, tmp_path: Path) -> None:
    from pytest_convo.sandbox.build import built

    (tmp_path / "Dockerfile").write_text(f"FROM {busybox}\nRUN echo prune > /x\n")
    made = built(client, tmp_path, 300, tmp_path / "locks")
    (tag,) = client.images.get(made).tags
    ours = client.api.images(name=tag)
    filtered = SimpleNamespace(
        api=SimpleNamespace(images=lambda filters: ours, remove_image=client.api.remove_image), images=client.images
    )
    assert f"removed {tag}" in prune(cast("DockerClient", filtered), lock_dir=tmp_path / "locks")[0]
    assert cached.image_id(client, tag) is None
