"""The agent's loop: a model is asked, what it calls for is carried out in a sandbox, until one of four ends."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from ..bot.answer import Idle
from ..bot.events import Observer, observed, tell
from ..bot.model import ChatModel
from ..bot.threads import in_thread
from ..bot.tools import Known, Tool
from ..prompt.composer import Composer
from ..prompt.source import Source
from ..prompt.stack import Stack
from ..sandbox.base import Sandbox
from ..sandbox.tool import AgentTool
from .bench import Bench
from .box import Box
from .browser import Browser
from .course import Course
from .hands import hands_of
from .policy import Policy
from .protocol import PROTOCOLS, ProtocolName, whole_stack
from .result import Work

if TYPE_CHECKING:
    from ..settings.bots import BotSettings


async def work(
    task: str,
    *,
    model: ChatModel,
    stack: Stack,
    bot: BotSettings,
    sandbox: Sandbox,
    timeout: float,  # noqa: ASYNC109 it is one of the four ends, and no error
    protocol: ProtocolName = "tools",
    max_iterations: int = 20,
    command_timeout: float = 60.0,
    tools: Sequence[AgentTool] = (),
    functions: Sequence[Tool] = (),
    browses: bool = False,
    policy: Policy | None = None,
    observe: Observer | None = None,
    idle: Idle | None = None,
    known: Known | None = None,
    corrections: int = 3,
    sources: Sequence[Source] = (),
) -> Work:
    """What `model` does about `task` in `sandbox`; how the protocol goes is added to `stack`.

    At most `max_iterations` calls are carried out, one after the other; then the model may still give its final answer.
    A reply that cannot be read, or calls for nothing that there is, is no iteration: it is corrected, `corrections`
    times in a row at most. `timeout`, in seconds, holds while the model is asked and while a command runs, but not
    while the model is waited for at a gate. Where it ends the work, or somebody else does, all that runs in the sandbox
    is killed, and the sandbox can be used at once.

    A call whose result is `known` is carried out all the same, so that the sandbox becomes what it was, but the model
    is told what is known; a function's is not. `idle` is entered while calls are carried out and no model is asked.

    What is no fault of the bot's is raised (`HarnessError`), with the `messages` and the `transcript` so far.
    """
    hands = hands_of(tools)
    if browses:
        hands.append(await in_thread(Browser.of, sandbox))
    box, spoken = Box(hands, functions), PROTOCOLS[protocol]
    whole = whole_stack(stack, spoken, box.specs)
    course = Course(
        task,
        model,
        Composer(whole, bot=bot, tools=spoken.declared(box.specs), sources=sources),
        spoken,
        box,
        Bench(sandbox, command_timeout),
        max_iterations,
        corrections,
        policy,
        known,
        nullcontext if idle is None else idle,
    )
    with observed(observe):
        try:
            await course.run(timeout)
        except BaseException as error:
            found = course.work()
            vars(error)["messages"], vars(error)["transcript"] = found.messages, found.transcript()
            raise
        found = course.work()
        tell("end", end=found.end, error=found.error, iterations=found.iterations, seconds=round(found.seconds, 4))
    return found
