"""``python -m data_samples --links 300 --days 40 --seed 1 --out DIR``: write a synthetic fleet."""

import argparse
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from data_samples.config import FleetConfig
from data_samples.fleet import generate

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line, generate, and print what was made."""
    usual = FleetConfig()
    parser = argparse.ArgumentParser(prog="python -m data_samples", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory to write to")
    parser.add_argument("--links", type=int, default=usual.links)
    parser.add_argument("--days", type=int, default=usual.days)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--interval-minutes", type=int, default=usual.interval_minutes)
    parser.add_argument(
        "--failures-per-link-year", type=float, default=usual.failures_per_link_year, help="0.03 is realistic"
    )
    given = vars(parser.parse_args(arguments))
    out: Path = given.pop("out")
    console = Console(stderr=True)
    with Progress(console=console) as progress:
        task = progress.add_task("synthetic fleet", total=1.0)
        summary = generate(out, FleetConfig(**given), lambda share: progress.update(task, completed=share))
    console.print({"out": str(out), **asdict(summary)})


if __name__ == "__main__":
    main()
