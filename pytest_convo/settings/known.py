"""Which keys there are, and which of them was meant by one that there is not."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from pydantic import BaseModel

from .agents import AgentSettings
from .bots import BotSettings, EmbeddingSettings, JudgeSettings, LimitSettings, PriceSettings, RefineSettings
from .definition import Definition
from .expect import Criterion, ExpectedCall, ExpectedNumber, ExpectTable, Similarity
from .locate import Keys
from .model import AgreeSettings, Case, RecordSettings, Settings
from .prompts import PromptSettings, SummarizeSettings
from .rules import is_index
from .show import dotted

_TABLES: dict[str, type[BaseModel]] = {
    "case": Case,
    "bot": BotSettings,
    "price": PriceSettings,
    "limits": LimitSettings,
    "record": RecordSettings,
    "judge": JudgeSettings,
    "embeddings": EmbeddingSettings,
    "agree": AgreeSettings,
    "refine": RefineSettings,
    "prompt": PromptSettings,
    "summarize": SummarizeSettings,
    "expect": ExpectTable,
    "number": ExpectedNumber,
    "similar": Similarity,
    "calls": ExpectedCall,
}


def unknown_key(keys: Keys, whole: type[BaseModel], extra_checks: Collection[str] = ()) -> tuple[str, str]:
    """What to say of the key at the end of `keys` in the model `whole`, and what to do about it."""
    *around, key = keys
    names = [part for part in around if isinstance(part, str) and not is_index(part)]
    model = _model(names) if names else whole
    known = [name for name in model.model_fields if name != "checks"]
    if model is ExpectTable:
        known += sorted(extra_checks)
    if whole is Definition and not around and key in Settings.model_fields:
        agents = ", ".join(name for name in AgentSettings.model_fields if name in known)
        listed = ", ".join(name for name in known if name not in AgentSettings.model_fields)
        return f'"{key}" is no part of a bot', f"a bot has {listed}; as an agent also {agents}"
    table = dotted(tuple(around))
    what = f'unknown key "{dotted((key,))}"' + (f" in [{table}]" if table else "")
    return what, _hint(str(key), model, known, whole)


def _model(names: list[str]) -> type[BaseModel]:
    """The model of a table: [judge] says who judges, and `judge` in [expect] by what."""
    return Criterion if names[-1] == "judge" and "expect" in names else _TABLES[names[-1]]


def _hint(key: str, model: type[BaseModel], known: list[str], whole: type[BaseModel]) -> str:
    usual = [name for name in known if name not in AgentSettings.model_fields]
    listed = f"known are {', '.join(usual)}"
    if model is ExpectTable and key.isdecimal():
        return f"[expect.N] has the index of a reply, 0 to 9999, for N: [expect.{int(key[-4:])}]"
    if nearest := difflib.get_close_matches(key, usual, n=1):
        return f"did you mean {nearest[0]}? {listed}"
    if key in BotSettings.model_fields:
        return f"it belongs into [bot], as bot.{key}"
    if key in LimitSettings.model_fields:
        return f"it belongs into [limits], as limits.{key}"
    if key in ExpectTable.model_fields:
        return f"it belongs into [expect], as expect.{key}"
    if nearest := difflib.get_close_matches(key, known, n=1):
        return f"did you mean {nearest[0]}? {listed}"
    if key in whole.model_fields:
        in_file = whole is Settings
        return "it belongs to the top of the file, above the first [table]" if in_file else f"its name is {key} alone"
    return f"{'further fields of the request belong into [bot.request]; ' * (model is BotSettings)}{listed}"
