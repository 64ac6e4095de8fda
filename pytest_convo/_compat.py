"""The few private parts of pytest that we cannot do without, with the reason for each."""

from __future__ import annotations

# How pytest shows an exception; its parts are gone over for secrets where pytest, or another plugin, will read them.
from _pytest._code.code import ExceptionRepr

# What `pytest.skip` raises; the public way to it, `pytest.skip.Exception`, is no type that one can inherit from.
from _pytest.outcomes import Skipped

# Runs the three phases of one item. There is no public name for it; pytest-rerunfailures and others use this one, and
# it is unchanged since pytest 3. Needed to run an item again, and to hold its reports back until that is done.
from _pytest.runner import runtestprotocol

__all__ = ["ExceptionRepr", "Skipped", "runtestprotocol"]
