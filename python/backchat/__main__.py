"""The command, as `backchat` and as `python -m backchat`."""

import signal
import sys

from backchat import _backchat


def main() -> None:
    """Run the command with the arguments of this process, and exit with its code."""
    # Python would only record an interrupt, because the command runs outside of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.stdout.flush()
    code = _backchat.main(["backchat", *sys.argv[1:]])
    sys.exit(code)


if __name__ == "__main__":
    main()
