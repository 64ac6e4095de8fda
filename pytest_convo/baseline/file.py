"""`convo-baseline.json`: how often each case passed, committed beside the conversations.

Counts and digests, no prose and nothing that a bot said; sorted and one case a line, so that a diff of it can be read.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..errors import FormatError

Count = Annotated[int, Field(ge=0)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Entry(_Table):
    """One case: the outcomes of its runs, in two halves (`agreement.gate.halves`), and what it was.

    The first half screens, the second confirms: a case that looks bad is compared with runs that did not make it look
    so. `samples` has a digest of what was said in each counted run: the same recording is no new evidence.
    """

    passes: Annotated[tuple[Count, Count], Field(strict=False)]
    runs: Annotated[tuple[Count, Count], Field(strict=False)]
    errors: Count = 0
    models: Annotated[tuple[str, ...], Field(strict=False)]
    messages: str
    checks: Mapping[str, str]
    samples: Annotated[tuple[str, ...], Field(strict=False)]

    @model_validator(mode="after")
    def _passes_are_runs(self) -> Entry:
        if any(passes > runs for passes, runs in zip(self.passes, self.runs, strict=True)):
            msg = "more passes than runs"
            raise ValueError(msg)
        return self


class Baseline(_Table):
    """All cases by the node id of their group, and when the file was last written."""

    version: Literal[1] = 1
    date: str
    cases: Mapping[str, Entry]


def read(path: Path) -> Baseline:
    """The baseline at `path`; `FormatError` where it cannot be read as one, `FileNotFoundError` where there is none."""
    hint = "write it anew with --convo-update-baseline"
    try:
        return Baseline.model_validate_json(path.read_bytes().removeprefix(codecs.BOM_UTF8))
    except FileNotFoundError:
        raise
    except OSError as error:
        msg = f"cannot be read: {error.strerror}"
        raise FormatError(msg, path=path) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        found = " ".join(first["msg"].split())
        msg = f"is no baseline: {f'{where}: ' if where else ''}{found}"
        raise FormatError(msg, path=path, hint=hint) from None


def write(path: Path, baseline: Baseline) -> None:
    """Write the baseline, whole or not at all."""
    lines = [f"  {json.dumps(id_)}: {json.dumps(entry.model_dump())}" for id_, entry in sorted(baseline.cases.items())]
    text = [
        "{",
        f' "version": {baseline.version},',
        f' "date": {json.dumps(baseline.date)},',
        ' "cases": {',
        ",\n".join(lines),
        " }",
        "}",
        "",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.tmp")
    try:
        unfinished.write_text("\n".join(line for line in text if line or line == text[-1]))
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
