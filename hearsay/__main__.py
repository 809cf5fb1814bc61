"""The command `hearsay`, also as `python -m hearsay`.

A device has no use for the command line: without the extra `server` one line says how to get it.
"""

import sys
from importlib.util import find_spec

NEEDED = ("click", "rich", "redis", "rq")  # of the extra `server`


def main() -> None:
    """Run the command line, where it is installed."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"hearsay: the command line needs {', '.join(missing)}: pip install 'hearsay-ldp[server,local]'",
            file=sys.stderr,
        )
        sys.exit(2)
    from hearsay.ops.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
