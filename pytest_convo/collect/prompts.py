"""Prompt files: the one of a directory, and those that tests read by the fixture `prompt`, or name by `refine`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from ..conversation.text import read_text
from ..errors import SettingsError
from ..run.redact import REDACTOR
from ..run.refinable import REFINABLE, Refinable
from ..settings.bots import RefineSettings
from ..settings.files import nearest
from .state import LISTENER, State, of

if TYPE_CHECKING:
    from ..settings.model import Settings


def prompt_files(state: State, directory: Path, settings: Settings) -> tuple[Path, ...]:
    """The files of the system prompt: those that `prompt` names, else the nearest prompt.md; or none."""
    if settings.prompt.files is not None:
        return settings.prompt.files
    path = state.resolver.find_prompt(directory)
    return () if path is None else (path,)


def reads(item: pytest.Item, paths: Iterable[Path]) -> Refinable:
    """Note that a test depends on these prompt files."""
    if REFINABLE not in item.stash:
        whole = of(item.config).resolver.resolve(item.path.parent).settings
        settings = whole.refine
        made_of = whole.model_dump(mode="json", exclude={"refine"}, warnings=False)
        said_of_it = settings.model_dump(mode="json", exclude_unset=True, warnings=False)
        item.stash[REFINABLE] = Refinable(settings=said_of_it, made_of=made_of)
        if REDACTOR not in item.stash:
            from .spec import redactor_at  # it reads prompts by this module

            item.stash[REDACTOR] = redactor_at(of(item.config), item.path.parent)  # what it is told by may hold secrets
    noted = item.stash[REFINABLE]
    new = [path for path in paths if path not in noted.prompts]
    noted.prompts += new
    if new and (listener := item.config.stash.get(LISTENER, None)) is not None:
        listener({"kind": "reads", "test": str(item.path), "paths": list(map(str, new))})
    return noted


class Prompts:
    """Reads the prompt files of one test: `prompt("prompts/extract.md", product="tea")`."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, path: str | os.PathLike[str], /, **variables: Any) -> str:
        """The text of a prompt file, rendered with `variables` where its name ends in `.j2`.

        A relative path is looked for in the test's directory, and in those above it up to the rootdir.
        """
        found = _found(self._item, path)
        if variables and found.suffix != ".j2":
            msg = f"is no template, and would stay as it is without {', '.join(variables)}"
            raise SettingsError(msg, path=found, hint="let its name end in .j2, or leave the variables out")
        text = read_text(found, variables=variables, template=found.suffix == ".j2")
        reads(self._item, [found])
        return text


class Refine:
    """Takes down how a prompt of one test is to be mended; what is given comes in the place of `[refine]`."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, *, prompt: str | os.PathLike[str], **settings: Any) -> Refine:
        """`refine(prompt="prompts/extract.md", correction="Answer with JSON only.", attempts=8)`.

        The settings are those of `[refine]`; `SettingsError` for one that it does not have.
        """
        found = _found(self._item, prompt)
        try:
            given = RefineSettings.model_validate(settings)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(map(str, problem["loc"]))
            known = ", ".join(RefineSettings.model_fields)
            msg = f"refine(...): {where}: {problem['msg']}"
            raise SettingsError(msg, hint=f"it takes prompt, {known}") from None
        declared = given.model_dump(mode="json", include=set(settings), warnings=False)
        noted = reads(self._item, [found])
        noted.declared.setdefault(os.path.realpath(found), {}).update(declared)
        return self


def _found(item: pytest.Item, path: str | os.PathLike[str]) -> Path:
    """The file of a prompt; `SettingsError` where there is none."""
    given, here = Path(path), item.path.parent
    found = nearest(os.fspath(given), here, item.config.rootpath) if not given.is_absolute() else given
    if found is None or not found.is_file():
        msg = f"there is no prompt file {os.fspath(path)}"
        raise SettingsError(msg, path=here, hint="a path is looked for beside the test, and in each directory above it")
    return found
