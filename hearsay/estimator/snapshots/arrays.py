"""The arrays of a snapshot in one file, written and read without pickle."""

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray


def save_arrays(file: IO[bytes], arrays: dict[str, NDArray[Any]]) -> None:
    """What numpy's savez does, without its way into pickle."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def load_arrays(path: Path, members: dict[str, str]) -> dict[str, NDArray[Any]]:
    """The named members only, never by way of pickle."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name, member in members.items():
            with archive.open(f"{member}.npy") as file:
                arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
    return arrays
