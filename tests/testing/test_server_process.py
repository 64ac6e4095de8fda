from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

SERVER = [sys.executable, "-W", "error", "-m", "pytest_convo.testing.server"]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_a_script_as_a_process_of_its_own_until_it_is_stopped(tmp_path, stop):
    script = tmp_path / "script.toml"
    script.write_text('[[reply]]\ntext = "hi"\n')
    with subprocess.Popen([*SERVER, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
        with urllib.request.urlopen(f"{url}/chat/completions", body, timeout=5) as response:
            assert json.load(response)["choices"][0]["message"]["content"] == "hi"
        process.send_signal(stop)
        assert process.wait(5) == 0
        assert process.stderr.read() == ""


def test_a_bad_script_is_told_in_a_line_without_a_traceback(tmp_path):
    result = subprocess.run([*SERVER, tmp_path / "none.toml"], capture_output=True, text=True, timeout=10, check=False)
    assert result.returncode == 2
    assert "none.toml: there is no script" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_room_is_loaded_only_when_it_is_used():
    code = "import sys, pytest_convo.testing as t; assert 'asyncio' not in sys.modules; print(sorted(dir(t)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=10, check=False)
    assert result.stdout.strip() == str(
        ["RecordedRequest", "Script", "ScriptedModel", "ScriptedReply", "ScriptedServer"]
    )


def test_a_name_that_is_not_there_is_an_attribute_error():
    import pytest_convo.testing

    with pytest.raises(AttributeError, match="ScriptedServr"):
        _ = pytest_convo.testing.ScriptedServr
