"""No search for garbage among what is collected.

A thousand conversations are a million objects that stay until the session ends: to look at all of them, again and
again while their number grows, takes a fifth of the time of collection, and of the runs after it as much.
"""

from __future__ import annotations

import gc


class Garbage:
    """The search for garbage in this process, as far as a session has it wait.

    It waits only where somebody had it on: not for an embedding program, nor while the SDK is being imported, which
    does the same. What somebody else has set aside is not touched, nor anything added to it.
    """

    def __init__(self) -> None:
        self._waits = False
        self._aside = False

    def wait(self) -> None:
        """Do not search until `search`; to be called with each thing that is collected."""
        if gc.isenabled():
            gc.disable()
            self._waits = True

    def search(self) -> None:
        """Search again, but not in what there is by now, until `forget`."""
        if not self._waits:
            return
        self._waits = False
        if gc.get_freeze_count() == 0:
            gc.freeze()
            self._aside = True
        gc.enable()

    def forget(self) -> None:
        """Nothing is set aside any more: the session ends, and what it leaves is garbage."""
        self.search()
        if self._aside:
            self._aside = False
            gc.unfreeze()
