"""The pages of the documentation show the example files unchanged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = ["tools", "openai", "anthropic", "langchain", "openai-agents", "smolagents", "mcp", "pytest", "trajectory"]


@pytest.mark.parametrize("page", PAGES)
def test_page_shows_the_example_file(root: Path, page: str) -> None:
    text = (root / "docs" / "python" / f"{page}.md").read_text(encoding="utf-8")
    shown = re.findall(r"`(crates/py/examples/\w+\.py)`:\n\n```python\n(.*?)```", text, re.DOTALL)
    assert len(shown) == 1
    for name, code in shown:
        assert code == (root / name).read_text(encoding="utf-8"), f"{page}.md does not show {name} as it is"
