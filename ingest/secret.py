"""Secrets of a configuration: read from a variable or a file, so that they stand in neither arguments nor logs."""

import os
from collections.abc import Mapping
from pathlib import Path

from ingest.errors import ConfigError

__all__ = ["read_secret"]


def read_secret(key: str, variable: str | None, file: Path | None, env: Mapping[str, str] = os.environ) -> str:
    """What a variable or a file holds.

    Args:
        key: of the configuration, without `_env` or `_file`, for the error.
        variable: name of the variable; the file is read where there is none.
        file: its path.
        env: variables.

    Raises:
        ConfigError: the variable is not set, or the file cannot be read.
    """
    if variable is not None:
        if variable not in env:
            msg = f"the environment variable {variable} ({key}_env) is not set"
            raise ConfigError(msg)
        return env[variable]
    try:
        return Path(file or "").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{key}_file {file}: {getattr(error, 'strerror', None) or 'is no text'}"
        raise ConfigError(msg) from None
