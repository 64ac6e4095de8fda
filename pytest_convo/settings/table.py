"""What all tables of convo.toml have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of convo.toml: an unknown key is an error, and no value is turned into another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
