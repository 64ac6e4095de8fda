"""The text of a message file or a prompt: as it stands, or rendered as a strict Jinja2 template."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConvoError, FormatError
from .disk import read_utf8
from .names import did_you_mean

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment


def read_text(
    path: str | os.PathLike[str], *, variables: Mapping[str, Any] | None = None, template: bool = False
) -> str:
    """The content of the file at `path`: verbatim, without a byte-order mark and without one final newline.

    CRLF within the text stays CRLF: what is sent is what stands in the file. Only a `template` is rendered, with
    `variables`; line ends of its own text become LF, as Jinja2 has it, and the variables' values are put in as they
    are and never read as template text. What it includes is looked for in its own directory or below; an included
    file without `.j2` is put in verbatim.

    Raises `FormatError` for a file that cannot be read, is not UTF-8 or holds NUL, and for a template that cannot be
    rendered: an undefined variable, wrong syntax, a forbidden attribute, a missing include.
    """
    return _render(os.fspath(path), variables or {}) if template else read_utf8(path)


def sources(template: str | os.PathLike[str]) -> frozenset[Path]:
    """The files that a template was made of when it was rendered in this process: itself, and what it included."""
    return frozenset(map(Path, _environment(os.fspath(template))[1]))


def _render(path: str, variables: Mapping[str, Any]) -> str:
    from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError, UndefinedError

    environment, sources = _environment(path)
    try:
        return environment.get_template(Path(path).name).render(variables)
    except ConvoError:
        raise
    except TemplateSyntaxError as error:
        raise _wrong(error.message or "wrong syntax", error.filename or path, error.lineno) from None
    except TemplateNotFound as error:
        what, hint = f"there is no {error.name!r} to include", "paths start at the template's directory and stay in it"
        raise _wrong(what, *_place(error, sources, path), hint) from None
    except UndefinedError as error:
        raise _wrong(error.message or "undefined", *_place(error, sources, path), _known(error, variables)) from None
    except TemplateError as error:
        raise _wrong(error.message or type(error).__name__, *_place(error, sources, path)) from None
    except Exception as error:  # whatever an expression in somebody's template does
        what = f"{type(error).__name__}: {error}"
        raise _wrong(what, *_place(error, sources, path)) from None


@lru_cache(maxsize=256)
def _environment(template: str) -> tuple[SandboxedEnvironment, set[str]]:
    """The environment in which the file `template` is rendered, and the paths of all files that it has read."""
    from jinja2 import FunctionLoader, StrictUndefined
    from jinja2.loaders import split_template_path
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    directory, main = Path(template).parent, Path(template).name
    sources: set[str] = set()

    def load(name: str) -> tuple[str, str, Any] | None:
        path = template if name == main else str(directory.joinpath(*split_template_path(name)))
        if name != main and not os.path.lexists(path):
            return None
        text = read_utf8(path)
        sources.add(path)
        source = text if name == main or name.endswith(".j2") else text.replace("{", "{{ '{' }}")
        # The whole text is compared, not the file's time: an edit within one tick of the clock counts too.
        return source, path, lambda: read_utf8(path) == text

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        loader=FunctionLoader(load),
        keep_trailing_newline=True,
        autoescape=False,  # what is rendered is a message to a model, not a page for a browser
    )
    return environment, sources


def _place(error: BaseException, sources: set[str], path: str) -> tuple[str, int | None]:
    """The template and the line that an error was raised in, the innermost one of several."""
    place: tuple[str, int | None] = path, None
    trace = error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if filename in sources:
            place = filename, trace.tb_lineno
        trace = trace.tb_next
    return place


def _known(error: Exception, variables: Mapping[str, Any]) -> str:
    quoted = str(error).split("'")
    if len(quoted) < 2 or not str(error).endswith("' is undefined") or not variables:
        return "set it in [vars] of convo.toml, or in the vars of the case"
    return f"set it in [vars] or in the vars of the case; {did_you_mean(quoted[1], map(str, variables))}"


def _wrong(what: str, path: str, line: int | None, hint: str = "") -> FormatError:
    msg = f"the template cannot be rendered: {what}"
    return FormatError(msg, path=path, line=line, hint=hint or "correct the template, or drop .j2 from the file's name")
