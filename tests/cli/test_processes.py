"""Examples of every help text as they are written; real processes: pipes, Ctrl-C, light help."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import mercer as package
from mercer.cli._app import app

ROOT = Path(__file__).parents[2]
COMMANDS = [command.name for command in app.registered_commands]


@pytest.fixture(scope="session")
def shell(tmp_path_factory):
    """The environment of a shell that finds ``mercer``."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "mercer"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m mercer.cli "$@"\n')
    script.chmod(0o755)
    return os.environ | {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": "200",
        "MPLBACKEND": "Agg",
    }


def run(command, shell, **more):
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], env=shell, capture_output=True, text=True, **more
    )


def in_this_process(mercer, command):
    """What a command prints; a process of its own would only take longer."""
    code, out, err = mercer(*shlex.split(command.removeprefix("mercer ").split(" | ")[0]))
    assert code == 0, err
    return out


def examples(mercer, name, monkeypatch):
    """The lines of a help text that begin with a dollar."""
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = mercer(name, "--help")
    assert code == 0
    return re.findall(r"^\s*\$ (mercer .*?)\s*$", out, flags=re.MULTILINE)


def test_the_commands_are_those_promised():
    promised = "train tune predict verify inspect convert export doctor plot play warmup demo"
    assert promised.split() == COMMANDS


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "play"])
def test_examples_run_as_they_are_written(name, here, mercer, shell, monkeypatch):
    if name == "demo":
        shutil.rmtree(here / "demo")
    found = examples(mercer, name, monkeypatch)
    assert found
    for example in found:
        if re.search(r"[|<>;&$]", example):  # for a shell
            done = run(example, shell, cwd=here)
            assert done.returncode == 0, done.stderr
        else:
            in_this_process(mercer, example)
        assert example.split()[1] == name
        for output in re.findall(r"-o (\S+)", example):
            assert (here / output).stat().st_size > 0


def test_the_example_of_play_serves_a_page(mercer, shell, monkeypatch, here):
    (example,) = examples(mercer, "play", monkeypatch)
    words = shlex.split(re.sub(r"--port \d+", "--port 0 demo/tumours.csv", example))
    with subprocess.Popen(words, env=shell, stderr=subprocess.PIPE, text=True, cwd=here) as server:
        note, line = server.stderr.readline(), server.stderr.readline()
        assert "398 points" in note
        address = re.search(r"http://127\.0\.0\.1:\d+\S*", line)[0]
        with urllib.request.urlopen(address) as page:
            assert page.status == 200
        server.send_signal(signal.SIGINT)
        try:
            assert server.wait(60) == 0
        finally:
            server.kill()  # leaving `with` waits without a limit


@pytest.mark.parametrize("start", ["", "http://127.0.0.1:5006/", "https://example.org/play"])
def test_play_opens_a_link_whole_or_from_its_question_mark(start, mercer):
    from mercer.cli._commands import _query

    assert _query(f"{start}?data=xor&kernel=linear&C=10.0") == "data=xor&kernel=linear&C=10.0"
    code, _, error = mercer("play", "--no-browser", f"{start}?data=xor&C=-1")
    assert code == 1
    assert error.count("\n") == 1
    assert "C must" in error


def test_the_command_of_the_readme(mercer, here):
    """A trained and verified model and a picture, from a CSV of one's own."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    (command,) = block.strip().splitlines()
    data = (
        (here / "demo" / "tumours.csv").read_text(encoding="utf-8").replace("diagnosis", "label", 1)
    )
    (here / "data.csv").write_text(data)
    assert "verdict        holds" in in_this_process(mercer, command)
    assert (here / "data.png").read_bytes().startswith(b"\x89PNG")
    again = in_this_process(mercer, "mercer verify data.mercer data.csv --json")
    assert json.loads(again)["holds"] is True


def test_examples_of_the_page_run(mercer, tmp_path, monkeypatch):
    text = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (mercer .*)$", text, flags=re.MULTILINE)
    assert len(commands) > 6
    monkeypatch.chdir(tmp_path)
    printed = [in_this_process(mercer, command) for command in commands]
    assert "Cross Validation Accuracy = " in printed[-1]


def test_the_start_page_prints_what_the_commands_print(mercer, tmp_path, monkeypatch):
    """But for seconds, and the last digits of a gap."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "start" / "index.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
    code, out, _ = mercer("demo")
    assert code == 0

    def lines(text):
        varying = r"^time .*|within \S+ %"
        return [re.sub(varying, "…", line) for line in text.splitlines() if line]

    assert lines(out) == lines(block)


def test_exit_codes_reach_the_shell(shell, here):
    for command, code in (
        ("mercer --help", 0),
        ("mercer train nowhere.csv", 1),
        ("mercer train --no-such-option", 2),
        ("mercer train demo/tumours.csv --target diagnosis --time-limit 0", 3),
    ):
        done = run(command, shell, cwd=here)
        assert done.returncode == code, done.stderr
        assert done.stderr.count("\n") <= (2 if code == 3 else 1)


def test_a_reader_that_has_seen_enough_is_no_error(shell, here):
    np.savez(here / "many.npz", X=np.zeros((60_000, 2)))
    command = "mercer predict demo/tumours.mercer many.npz | head -2"
    done = run(command, shell, cwd=here)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 2
    done = run("mercer train demo/tumours.csv --target diagnosis -o m | true", shell, cwd=here)
    assert (done.returncode, done.stderr) == (0, "")
    assert (here / "m").exists()  # the model is written whether or not anybody reads along


@pytest.mark.parametrize(
    ("encoding", "command"),
    [
        ("ascii", "mercer train --help"),
        ("ascii", "mercer inspect demo/tumours.mercer"),
        ("cp1252", "mercer train --help"),
    ],
)
def test_any_encoding_will_do(shell, here, encoding, command):
    """Of a terminal without UTF-8, or of a pipe where that is not the default."""
    done = run(command, shell | {"PYTHONIOENCODING": encoding}, cwd=here, encoding=encoding)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_writes_the_model_so_far(shell, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "hard.npz", X=rng.normal(size=(1200, 8)), y=rng.integers(0, 2, 1200))
    words = shlex.split("mercer train hard.npz -C 1e6 --gamma 0.01 --tol 1e-10")
    screen, stderr = os.openpty()
    command = {"env": shell | {"TERM": "xterm"}, "cwd": tmp_path, "stdout": subprocess.DEVNULL}
    with subprocess.Popen(words, stderr=stderr, **command) as process:
        os.close(stderr)
        said = b""
        while b"violation" not in said:  # the first report of the fit
            said += os.read(screen, 4096)
        process.send_signal(signal.SIGINT)
        with suppress(OSError):  # the end of what is on a terminal
            while part := os.read(screen, 4096):
                said += part
    os.close(screen)
    assert process.returncode == 3, said
    assert b"the model so far is in hard.mercer" in said
    assert package.load(tmp_path / "hard.mercer").certificate_.status is package.Status.STOPPED


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from mercer.cli import main; code = main(['--help'])\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'matplotlib', 'bokeh', 'pandas'}\n"
        "print(code, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("mercer tr", "train"),
        ("mercer train --machine lin", "linear-svc"),
        ("mercer train --kernel ch", "chi2"),
        ("mercer train --solver pro", "projected-gradient"),
        ("mercer plot bo", "boundary"),
    ],
)
def test_the_shell_completes(words, expected, shell):
    asked = {
        "_MERCER_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = run("mercer", shell | asked)
    assert expected in done.stdout.split()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("order", ["{model} {data} -o pipe", "-b 0 {data} {model} pipe"])
def test_pipes_and_devices_are_written_to_not_replaced(here, mercer, order):
    """``-o /dev/null`` must leave a device there, also where the user may write to /dev."""
    assert mercer("train", "demo/tumours.csv", "--target", "diagnosis", "-o", "m", "-q")[0] == 0
    os.mkfifo("pipe")
    end = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)  # what is written fits into its buffer
    try:
        words = order.format(model="m", data="demo/tumours-new.csv").split()
        assert mercer("predict", *words)[0] == 0
        lines = os.read(end, 1 << 16).decode().split()
    finally:
        os.close(end)
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    assert lines.count("benign") + lines.count("malignant") == 171
