"""Shared by the tests: the examples on the path, and a policy of a shop."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import lictor

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
#: The repository, for its pages and for documents next to it.
ROOT = Path(os.environ.get("LICTOR_ROOT", HERE.parents[2]))

sys.path[:0] = [str(EXAMPLES)]
pytest_plugins = ["pytester"]


@pytest.fixture
def shop() -> lictor.Policy:
    return lictor.Policy.load(EXAMPLES / "shop.yaml")


@pytest.fixture
def root() -> Path:
    return ROOT
