"""Work that may hang: its result, its failure in one line, and a process that ends without it."""

import subprocess
import sys
import threading

import pytest

from ingest.collect.attempt import Attempt, leave


def test_work_that_ends_gives_its_result() -> None:
    done = Attempt(lambda: 42, 10.0)

    assert (42, None, None, False) == (done.result, done.error, done.reason, done.running)


def test_a_failure_is_one_line_without_colours() -> None:
    def fail() -> None:
        msg = (
            "Kernel error -> Generic S3 error\n   \x1b[31m↳\x1b[0m Error performing GET\n    \x1b[31m↳\x1b[0m  in 2.6 s"
        )
        raise OSError(msg)

    assert "Kernel error -> Generic S3 error Error performing GET in 2.6 s" == Attempt(fail, 10.0).reason


def test_a_failure_without_words_is_called_by_its_type() -> None:
    class PanicException(BaseException):
        """As pyo3 raises it: no Exception."""

    def fail() -> None:
        raise PanicException

    assert "PanicException" == Attempt(fail, 10.0).reason


def test_work_that_does_not_end_is_left_to_itself() -> None:
    over = threading.Event()
    hanging = Attempt(over.wait, 0.05)

    assert (True, None, None) == (hanging.running, hanging.result, hanging.reason)

    over.set()
    hanging.wait(10.0)

    assert (False, True) == (hanging.running, hanging.result)


def test_a_process_goes_on_where_nothing_runs() -> None:
    leave(3)


@pytest.mark.parametrize("code", [0, 1])
def test_a_process_ends_at_once_with_its_code_and_its_last_words(code: int) -> None:
    program = (
        "import threading; from ingest.collect.attempt import Attempt, leave; "
        f"Attempt(threading.Event().wait, 0.0); print('last words'); leave({code}); print('never said')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)

    assert (code, "last words\n") == (done.returncode, done.stdout)
