"""`--convo-explain` and `--convo-schema`: pytest prints and ends, as with `--version`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ..collect.errors import told
from ..collect.spec import redactor_at
from ..collect.state import of
from ..errors import ConvoError


def show(config: pytest.Config) -> int:
    """Print the schema, or the settings of each given directory; the exit code."""
    if config.getoption("convo_schema"):
        from ..settings.schema import json_schema

        print(json.dumps(json_schema(), indent=1))
        return int(pytest.ExitCode.OK)
    sound = [_explain(config, argument) for argument in config.args]  # each is explained, whatever is wrong with one
    return int(pytest.ExitCode.OK if all(sound) else pytest.ExitCode.USAGE_ERROR)


def _explain(config: pytest.Config, argument: str) -> bool:
    from ..settings.explain import explain

    path = (config.invocation_params.dir / argument.partition("::")[0]).resolve()
    if not path.exists():
        print(f"{argument}: there is no such file or directory", file=sys.stderr)
        return False
    directory = path if path.is_dir() else path.parent
    state = of(config)
    try:
        for case in state.resolver.cases(directory) or (None,):
            resolved = state.resolver.resolve(directory, case=case)
            print(f"{_name(config, directory)}{f' [{case}]' if case else ''}")
            hidden = redactor_at(state, directory).after(resolved.values)
            print(hidden.text(explain(resolved, directory)), end="\n\n")
    except ConvoError as error:
        print(told(error, config, directory), file=sys.stderr)
        return False
    return True


def _name(config: pytest.Config, directory: Path) -> str:
    return str(directory.relative_to(config.rootpath)) if directory.is_relative_to(config.rootpath) else str(directory)
