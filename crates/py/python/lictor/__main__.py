"""The command `lictor`, as the wheel carries it: `lictor …` or `python -m lictor …`."""

from __future__ import annotations

import signal
import sys

from . import _lictor


def main() -> int:
    """Runs the command and gives its exit code."""
    # The command runs outside of Python, which would only look at an interrupt afterwards.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _lictor.run_command(["lictor", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
