"""`judge_probes.toml`: replies of which a person knows whether they fulfil a criterion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..conversation.message import Message
from ..errors import FormatError
from ..settings import toml

if TYPE_CHECKING:
    from pydantic import ValidationError

FILE = "judge_probes.toml"
"""The nearest file of this name, in the conversation's directory or above, unless `[judge] probes` names another."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A reply, whether it fulfils the criterion, and where it comes from, as a person reads it."""

    reply: str
    passes: bool
    origin: str
    before: tuple[Message, ...] = ()
    """What had been said before, where it matters."""
    criterion: str | None = None
    """The criterion that it is a probe of; None for any."""

    def of(self, criterion: str) -> bool:
        """Whether it is a probe of that criterion."""
        return self.criterion is None or self.criterion == criterion


def read_probes(path: Path) -> tuple[Probe, ...]:
    """The probes in a file; `FormatError` that names the line where something is wrong with it."""
    from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

    Text = Annotated[str, StringConstraints(min_length=1)]  # noqa: N806  (a type)

    class Table(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)

        reply: str
        verdict: Literal["pass", "fail"]
        criterion: Text | None = None
        context: str = ""

    class File(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)

        probe: list[Table] = Field(min_length=1)

    file = toml.read(path)
    if file is None:
        msg = "there is no file of probes"
        raise FormatError(msg, path=path)
    try:
        tables = File.model_validate(file.values).probe
    except ValidationError as error:
        raise _mistake(error, file, path) from None
    return tuple(
        Probe(
            table.reply,
            table.verdict == "pass",
            f"{path.name}, probe {number}",
            (Message("user", table.context),) if table.context else (),
            table.criterion,
        )
        for number, table in enumerate(tables, 1)
    )


def of_approved(reply: Message, before: Sequence[Message]) -> Probe:
    """An approved reply, which fulfils every criterion of its turn: a person has said so."""
    return Probe(reply.text, passes=True, origin="the approved reply", before=tuple(before))


def _mistake(error: ValidationError, file: toml.Toml, path: Path) -> FormatError:
    detail: Any = error.errors(include_url=False)[0]
    keys: Sequence[str | int] = detail["loc"]
    known = {"extra_forbidden": "is no key of a probe", "missing": "is needed"}
    name = keys[-1] if isinstance(keys[-1], str) else f"probe {keys[-1] + 1}"
    what = f"{name} {known.get(detail['type'], _must(detail))}"
    hint = 'each [[probe]] has reply and verdict ("pass" or "fail"); it may have criterion and context'
    return FormatError(what, path=path, line=file.line(tuple(keys)), hint=hint)


def _must(detail: Any) -> str:
    must = {"literal_error": 'must be "pass" or "fail"', "model_type": "must be a table"}
    return must.get(detail["type"], f"is wrong: {detail['msg']}")
