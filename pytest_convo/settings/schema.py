"""The JSON schema of convo.toml, for editors that complete and check while somebody writes."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from .expect import ADDED
from .model import Settings

DIALECT = "https://json-schema.org/draft/2020-12/schema"
INDEX = "^(0|[1-9][0-9]{0,3})$"
"""The key of `[expect.N]`."""


def json_schema(extra_checks: Iterable[str] = ()) -> dict[str, Any]:
    """The schema (draft 2020-12) of convo.toml; `extra_checks` are the names of those that conftests add."""
    schema = Settings.model_json_schema(schema_generator=_Generator)
    definitions = schema["$defs"]
    table = definitions["ExpectTable"]
    del table["properties"][ADDED]
    table["properties"] |= {name: {"description": "a check that a conftest.py adds"} for name in extra_checks}
    definitions["Expect"] = table | {"patternProperties": {INDEX: {"$ref": "#/$defs/ExpectTable"}}}
    for setting in definitions["Case"]["properties"].values():
        setting.pop("default", None)  # what a case does not set is the conversation's
    for definition in (schema, *definitions.values()):
        definition["description"] = definition["description"].partition("\n\n")[0]
    return {"$schema": DIALECT, **schema, "title": "convo.toml"}


class _Generator(GenerateJsonSchema):
    """Without what Python alone knows (None, fractions), and without titles, which only repeat the keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  (of the interface)
        return False

    def nullable_schema(self, schema: Any) -> Any:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> Any:
        unset = schema.get("default", ...) is None
        return self.generate_inner(schema["schema"]) if unset else super().default_schema(schema)

    def encode_default(self, dft: Any) -> Any:
        return float(dft) if isinstance(dft, Fraction) else super().encode_default(dft)
