"""A part of what is sent: its name, its content, and its size in the tokens of a model. How it is written is apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Part:
    """A named text: of the system prompt, or of what a context source gave."""

    name: str
    content: str

    def tokens(self, tokenizer: Tokenizer) -> int:
        """Its size; a tokenizer remembers what it has counted."""
        return tokenizer.count(self.content)
