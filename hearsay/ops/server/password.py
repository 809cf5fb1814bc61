"""The embedded server's password: in a file beside its data that only its own user can read.

Other users of the machine reach the port on 127.0.0.1 too. Without the file they can neither read a stored count nor
change one. The server gets the password on its standard input, so that no list of processes shows it.
"""

import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from hearsay.ops.errors import ConfigurationError

FILE = "password"
UMASK = 0o077  # what the server makes: folders 0700, files 0600
BYTES = 32


def make_private(directory: Path) -> str:
    """Close a server's directory, and what an earlier version left in it, to other users; returns its password."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in (directory, *directory.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o700)
    return read_password(directory) or _write_password(directory / FILE)


def _write_password(path: Path) -> str:
    """A new password. The file is whole as soon as it has its name: a command may look for it at any time."""
    password, draft = secrets.token_urlsafe(BYTES), path.with_name(f"{FILE}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(password + "\n")
    draft.replace(path)
    return password


def read_password(directory: Path) -> str | None:
    """The password of the server in this directory; None: there is none yet."""
    path = directory / FILE
    try:
        password = path.read_text("ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ConfigurationError(
            f"the embedded server's password in {path} cannot be read: {why}; run this as the user who runs the "
            "server, or set HEARSAY_REDIS_URL"
        ) from None
    return password or None


def with_password(url: str, password: str | None) -> str:
    """The URL of an embedded server, with its password."""
    parts = urlsplit(url)
    return url if password is None else urlunsplit(parts._replace(netloc=f":{password}@{parts.netloc}"))


def on_standard_input(password: str) -> int:
    """A file descriptor to read the server's secret settings from."""
    reading, writing = os.pipe()
    os.write(writing, f"requirepass {password}\n".encode())  # far below what a pipe takes at once
    os.close(writing)
    return reading
