"""Where things live: read once from the environment, passed on as a value."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ingest.errors import ConfigError

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Places and addresses of one installation.

    Attributes:
        home: ``FORELIGHT_HOME``; everything not overridden lives below it.
        lake_uri: ``FORELIGHT_LAKE_URI``, a folder or ``s3://``.
        database_url: ``FORELIGHT_DATABASE_URL``, SQLAlchemy's; SQLite below home by default.
        tracking_uri: ``MLFLOW_TRACKING_URI``; SQLite below home by default.
        stale_after_s: ``FORELIGHT_STALE_AFTER_S``: older scores are no answer.
        no_act_share: ``FORELIGHT_NO_ACT_SHARE``: share of the alarms between switches left alone at random.
        alarm_ttl_s: ``FORELIGHT_ALARM_TTL_S``: an alarm of which no run has spoken for so long expires.
        rate_per_s: ``FORELIGHT_RATE_PER_S``: requests a second that one caller may make, twice as many at once.
        drains_config: ``FORELIGHT_DRAINS``, the file of limits and costs of drains; drains.toml below home by default.
        metrics_top: ``FORELIGHT_METRICS_TOP``: transceivers and alarms of which Prometheus is told one by one, at most.
        metrics_floor: ``FORELIGHT_METRICS_FLOOR``: risks below that are not told one by one.
        dask_scheduler: ``FORELIGHT_DASK_SCHEDULER``, ``tcp://host:port``; this machine's processes where not set.
    """

    home: Path
    lake_uri: str
    database_url: str
    tracking_uri: str
    stale_after_s: float = 7_200.0
    no_act_share: float = 0.0
    alarm_ttl_s: float = 86_400.0
    rate_per_s: float = 1_000.0
    dask_scheduler: str | None = None
    drains_config: Path = Path("drains.toml")
    metrics_top: int = 500
    metrics_floor: float = 0.01

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Self:
        """Read the environment; nothing is created.

        Raises:
            ConfigError: a value is no number, or none that makes sense.
        """
        home = Path(env.get("FORELIGHT_HOME", ".forelight")).absolute()
        return cls(
            home=home,
            lake_uri=env.get("FORELIGHT_LAKE_URI", str(home / "lake")),
            database_url=env.get("FORELIGHT_DATABASE_URL", f"sqlite:///{home / 'forelight.db'}"),
            tracking_uri=env.get("MLFLOW_TRACKING_URI", f"sqlite:///{home / 'mlflow.db'}"),
            stale_after_s=_number(env, "FORELIGHT_STALE_AFTER_S", 7_200.0, least=1.0, most=1e7),
            no_act_share=_number(env, "FORELIGHT_NO_ACT_SHARE", 0.0, least=0.0, most=0.5),
            alarm_ttl_s=_number(env, "FORELIGHT_ALARM_TTL_S", 86_400.0, least=3_600.0, most=1e7),
            rate_per_s=_number(env, "FORELIGHT_RATE_PER_S", 1_000.0, least=1.0, most=1e6),
            dask_scheduler=env.get("FORELIGHT_DASK_SCHEDULER") or None,
            metrics_top=int(_number(env, "FORELIGHT_METRICS_TOP", 500.0, least=0.0, most=100_000.0)),
            metrics_floor=_number(env, "FORELIGHT_METRICS_FLOOR", 0.01, least=0.0, most=1.0),
            drains_config=_drains(env, home),
        )

    @property
    def artifact_root(self) -> Path:
        """Folder of MLflow's artefacts where the tracking store is the local one."""
        return self.home / "mlartifacts"


def _drains(env: Mapping[str, str], home: Path) -> Path:
    """A file that is named must be there: limits that are not read would be none."""
    named = env.get("FORELIGHT_DRAINS")
    if named and not Path(named).is_file():
        msg = f"FORELIGHT_DRAINS names {named}, which is no file"
        raise ConfigError(msg)
    return Path(named) if named else home / "drains.toml"


def _number(env: Mapping[str, str], name: str, usual: float, *, least: float, most: float) -> float:
    text = env.get(name, "").strip()
    try:
        value = float(text) if text else usual
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        msg = f"{name} is {text!r}: a number from {least:g} to {most:g} is needed"
        raise ConfigError(msg)
    return value
