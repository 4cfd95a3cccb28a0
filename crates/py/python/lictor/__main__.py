"""The command `lictor` of the wheel: `lictor …` or `python -m lictor …`."""

from __future__ import annotations

import signal
import sys

from . import _lictor


def main() -> int:
    """Runs the command and returns its exit code."""
    # The command is native code: Python would handle an interrupt only after it returns.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _lictor.run_command(["lictor", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
