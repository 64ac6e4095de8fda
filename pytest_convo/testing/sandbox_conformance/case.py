"""One case: what is asked of a sandbox, and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .backend import Backend

Check = Callable[[Backend], None]


@dataclass(frozen=True, slots=True)
class Case:
    """Raises AssertionError where a backend, called with it, does not do as `says` has it."""

    number: int
    name: str
    says: str
    check: Check
    needs: frozenset[str]
    """Capabilities, and things that a `Backend` can be given, without which it cannot be tried."""
    of_image: bool
    """Whether what is tried depends on the shell and the programs of the image, too."""

    def __call__(self, backend: Backend) -> None:
        with backend.used():
            self.check(backend)

    def __str__(self) -> str:
        return f"{self.number:02}_{self.name}"


class Cases(list[Case]):
    """The cases of a module, which its functions join: `@CASES.add(9)`."""

    def add(self, number: int, *needs: str, of_image: bool = True) -> Callable[[Check], Check]:
        def join(check: Check) -> Check:
            says = (check.__doc__ or "").strip()
            self.append(Case(number, check.__name__, says, check, frozenset(needs), of_image))
            return check

        return join
