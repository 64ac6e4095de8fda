"""What an agent is, and what it may do: flat among the settings, as `[convo]` of a task.toml has them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .kinds import AtLeastOne, Bytes, Files, Name, Names, NotNegative, Positive, Seconds
from .table import Table

Kind = Literal["reading", "writing", "browsing", "developer", "custom"]


class AgentSettings(Table):
    """Settings of agents. In a convo.toml they are the defaults of the tasks below it."""

    kind: Kind = Field("writing", description="what the agent is told to be, and what it may do by default")
    permission: Literal["READ_ONLY", "READ_WRITE"] | None = Field(
        None, description="READ_ONLY: the folder can be seen; READ_WRITE: a private copy of it; else as `kind` has it"
    )
    scratch: bool = Field(False, description="with READ_ONLY: the folder may be written to, and nothing of it lasts")
    max_iterations: AtLeastOne = Field(20, description="commands that one run may execute")
    command_timeout: Seconds = Field(60.0, description="of one command; never longer than what is left of `timeout`")
    corrections: NotNegative = Field(3, description="unusable replies in a row that are answered with a correction")
    protocol: Literal["tools", "json"] = Field(
        "tools", description='"tools": native tool calls; "json": one JSON object a reply, for models without them'
    )
    tools: Files = Field((), description="files of the tools that are installed: tools/ripgrep.toml")
    write_back: bool = Field(False, description="what a passing run changed is written into workspace/")
    background: bool = Field(False, description="whether a run may pass for what it has left running, as a server")
    environment: Name = Field("docker", description='where commands run: "docker", "local" (no isolation), or another')
    image: Name | None = Field(None, description="the image, where there is no environment/Dockerfile")
    user: Name | None = Field(None, description='who runs commands, as "1000:1000"; else whoever runs pytest')
    writable: bool = Field(False, description="whether the image's own files can be written to")
    network: bool = Field(False, description="whether there is a network")
    memory: Bytes = Field(1 << 30, description='of the sandbox, swap included: "1g", "512m", or bytes')
    cpus: Positive = Field(1, description="processors of the sandbox")
    pids: AtLeastOne = Field(256, description="processes and threads in the sandbox")
    env: Names = Field((), description="names of variables of this machine's that commands get; no other does")
    runtime: Name | None = Field(None, description='another runtime of the engine, as "runsc"')
