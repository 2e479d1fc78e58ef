"""The command line: python -m skipattn, or skipattn. Runs the command that the wheel carries."""

import os
import sys
from pathlib import Path


def main() -> None:
    command = Path(__file__).parent / "bin" / "skipattn"
    if not command.exists():
        sys.exit(
            "skipattn: this installation was built without the command, since CLI11 or "
            "nlohmann-json was neither installed nor could be fetched. Install them "
            "(libcli11-dev, nlohmann-json3-dev) and build again: "
            "pip install --force-reinstall --no-cache-dir ."
        )
    sys.stdout.flush()
    os.execv(command, ["skipattn", *sys.argv[1:]])


if __name__ == "__main__":
    main()
