"""Shared by the tests: the demo files, and a program to read them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def demo():
    return ROOT / "testdata" / "demo"


@pytest.fixture(scope="session")
def honest():
    return ROOT / "corpus" / "valid"
