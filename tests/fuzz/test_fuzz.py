"""Every reader takes a changed input, or refuses it in its own error (`make fuzz` does many)."""

from __future__ import annotations

import multiprocessing
import signal
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.inputs import KINDS, corpus, make
from tests.fuzz.readers import failure_of
from tests.fuzz.run import wait


@pytest.mark.parametrize("kind", KINDS)
def test_the_corpus_is_read_or_refused(kind, tmp_path):
    for content in corpus(kind):
        assert failure_of(kind, content, tmp_path / "f") == ""


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(number=st.integers(0, 2**40))
@pytest.mark.parametrize("kind", KINDS)
def test_changed_inputs_are_read_or_refused(kind, tmp_path, number):
    assert failure_of(kind, make(kind, number), tmp_path / "f") == ""


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_is_a_function_of_its_number(kind):
    first = [make(kind, number) for number in range(1000, 1100)]
    assert [make(kind, number) for number in range(1099, 999, -1)] == first[::-1]
    assert len(set(first)) > 50


@pytest.mark.parametrize("kind", ["svmlight", "csv"])
def test_long_lines_take_time_in_proportion(kind, tmp_path):
    """A line that is no svmlight only at its end; a number of very many digits."""
    pairs = b"0 " + b"12:34 " * 3000 + b"x\n"
    digits = b"a,b\n" + b"7" * 100_000 + b"x,1\n2,3\n"
    for content in (pairs, digits, b"1 1:" + b"7" * 100_000 + b"x\n"):
        assert failure_of(kind, content, tmp_path / "f") == ""


def test_a_process_that_stays_with_one_input_is_ended(tmp_path):
    (tmp_path / "mark").write_bytes(bytes(8))
    child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    child.start()
    wait(child, tmp_path / "mark", 0.1)
    assert child.exitcode == -signal.SIGKILL
