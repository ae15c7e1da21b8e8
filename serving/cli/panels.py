"""How `forelight --help` groups the commands, and what it ends with."""

from typing import Final

__all__ = ["DATA", "EPILOG", "KEEP", "LEARN", "SERVE", "START"]

START: Final = "Start here"
DATA: Final = "Data in, data out"
LEARN: Final = "Learn and judge"
SERVE: Final = "Every day"
KEEP: Final = "Keep it safe"

EPILOG: Final = """Begin with:  [bold]forelight demo[/]  what it does, on a synthetic fleet, in three minutes.

Your data:  [bold]forelight import DIR[/]  a folder with telemetry/, inventory.csv, links.csv and tickets.csv.

Would it have helped?  [bold]forelight backtest --from T --to T --alarms OUT.csv[/]  then train, score and serve.

All of it lives in FORELIGHT_HOME (./.forelight where not set). Exit codes: 0 done, 1 failed, 2 wrong usage."""
