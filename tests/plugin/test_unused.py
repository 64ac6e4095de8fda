"""Where there is no conversation the plugin might as well not be installed."""

from __future__ import annotations

HEAVY = {"openai", "docker", "pydantic", "watchdog", "asyncio", "jinja2", "yaml", "sqlite3", "jsonschema", "rapidfuzz"}


def test_a_session_without_conversations_loads_nothing_and_leaves_nothing(convos):
    convos.pytester.makepyfile("def test_x(): pass")
    convos.pytester.makeconftest(
        f"""
        import os, sys, threading

        def pytest_unconfigure():
            rooms = {{name for name in sys.modules if name.startswith("pytest_convo.")}}
            light = ("plugin", "hearing", "layout", "option_values", "options", "flags", "fixtures", "hookspec")
            assert rooms == {{"pytest_convo." + name for name in light}}
            assert not {HEAVY!r} & sys.modules.keys()
            assert threading.active_count() == 1
            assert not os.path.exists(".convo")
        """
    )
    result = convos.pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == 0, result.stderr.str()
    assert "convo" not in result.stdout.str().replace(str(convos.path), "").replace("plugins: convo", "")
    assert not (convos.path / ".convo").exists()


def test_switched_off_it_collects_nothing(convos, monkeypatch):
    monkeypatch.delenv("PYTEST_PLUGINS")
    convos.say("a")
    result = convos.pytester.runpytest_subprocess("-p", "no:convo")
    assert result.ret == 5


def test_xdist_without_conversations_is_as_ever(convos):
    convos.pytester.makepyfile("import pytest\n@pytest.mark.parametrize('i', range(20))\ndef test_x(i): assert i != 7")
    result = convos.pytester.runpytest_subprocess("-p", "xdist.plugin", "-n2", "-p", "no:cacheprovider")
    assert result.ret == 1
    assert result.parseoutcomes() == {"passed": 19, "failed": 1}
    assert not (convos.path / ".convo").exists()


def test_without_the_cache_and_with_strict_markers(convos):
    convos.say("a")
    result = convos.pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers", "-W", "error")
    assert result.ret == 0
