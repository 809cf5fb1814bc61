"""`python -m ops` is `hearsay`, for processes that must run in the same environment."""

from ops.cli import main

if __name__ == "__main__":
    main()
