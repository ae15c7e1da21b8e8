"""The command line's last resort: what the operating system refuses is one line, not a traceback."""

import os
import subprocess
import sys
from pathlib import Path


def test_a_home_that_cannot_be_made_is_said_in_one_line(tmp_path: Path) -> None:
    afile = tmp_path / "afile"
    afile.write_text("")
    bad = tmp_path / "export"
    (bad / "telemetry").mkdir(parents=True)
    (bad / "telemetry" / "torn.parquet").write_bytes(b"PAR1")
    run = subprocess.run(
        [Path(sys.executable).with_name("forelight"), "import", bad],
        env={**os.environ, "FORELIGHT_HOME": str(afile)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == run.returncode
    assert [f"forelight: {afile}/quarantine: Not a directory"] == run.stderr.splitlines()
