"""The papers' tables and figures, reproduced: one module per experiment, each with the click object `command`."""
