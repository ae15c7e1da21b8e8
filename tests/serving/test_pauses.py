"""What stays is not looked through for garbage, and garbage is found all the same; each in a process of its own."""

import subprocess
import sys


def _said(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_what_is_there_when_it_settles_is_left_out_of_later_looks() -> None:
    code = (
        "import gc; from serving.pauses import settle; kept = [[i] for i in range(10_000)]; settle();"
        "print(gc.get_freeze_count() > 10_000, len(gc.get_objects()) < 1_000)"
    )

    assert "True True" == _said(code)


def test_cycles_that_come_later_are_still_found() -> None:
    code = (
        "import gc, weakref; from serving.pauses import settle, settle_again; settle(); settle_again();"
        "Node = type('Node', (), {}); node = Node(); node.itself = node; there = weakref.ref(node); del node;"
        "gc.collect(); print(there() is None)"
    )

    assert "True" == _said(code)


def test_a_process_that_has_not_settled_is_left_as_it_is() -> None:
    code = (
        "import gc; from serving.pauses import settle_again; before = gc.get_threshold(); settle_again();"
        "print(gc.get_freeze_count(), gc.get_threshold() == before)"
    )

    assert "0 True" == _said(code)
