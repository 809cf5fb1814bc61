"""Who may import whom, and what a device has to install."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_imports_go_one_way() -> None:
    checker = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([checker, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_device_needs_little() -> None:
    """numpy, msgpack and pydantic, and redis where it publishes itself; nothing that only servers need."""
    program = (
        "import sys; from producer import Device;"
        "Device({'name': 'a', 'mechanism': 'hrr', 'epsilon': 1.0, 'domain': {'kind': 'binary'}}).report(1);"
        "print(*sorted({'scipy', 'rq', 'click', 'rich', 'starlette', 'uvicorn', 'prometheus_client', 'matplotlib'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
