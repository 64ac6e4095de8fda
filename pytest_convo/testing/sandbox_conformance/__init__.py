"""What every sandbox must do, as cases that a test file runs against a backend of its own.

```python
BACKEND_CAN = MyEnvironment.capabilities


@pytest.fixture(scope="module")
def backend():
    with Backend(MyEnvironment, SandboxSpec(image="my/image")) as backend:
        yield backend


@pytest.mark.parametrize("case", cases(BACKEND_CAN), ids=str)
def test_conformance(case, backend):
    case(backend)
```

A case that needs what a backend does not have is not among its `cases`. The numbers stay what they are, 1 to 48 are
those of the first list, of which 42 is here and 43 is a test of an engine rather than of a sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import commands, ending, faults, files, isolation, limits, output, parallel, trust
from .backend import Backend
from .case import Case

__all__ = ["Backend", "Case", "cases"]

_MODULES = (commands, ending, faults, files, isolation, limits, output, parallel, trust)


def cases(can: Iterable[str], *, of_image: bool | None = None) -> list[Case]:
    """The cases for a backend, in their order.

    `can` are its environment's capabilities, and "end", "unreachable", "restart" where the `Backend` is given these.
    Of the image that it runs only some of them depend: `of_image` leaves these out, or the others.
    """
    able = frozenset(can)
    every = sorted((case for module in _MODULES for case in module.CASES), key=lambda case: case.number)
    return [case for case in every if case.needs <= able and of_image in (None, case.of_image)]
