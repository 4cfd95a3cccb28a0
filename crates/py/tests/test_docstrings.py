"""The examples in docstrings run, those of the native module too."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from typing import Any, Iterator, Tuple

import pytest

import lictor

MODULES = ["lictor._lictor"] + [
    f"lictor.{module.name}" for module in pkgutil.iter_modules(lictor.__path__) if module.name not in ("_lictor", "__main__")
]


def documented() -> Iterator[Tuple[str, str]]:
    """Yields every object of the package with an example in its docstring."""
    for name in MODULES:
        module = importlib.import_module(name)
        places: list[Tuple[str, Any]] = [(name, module)]
        places += [(f"{name}.{key}", value) for key, value in vars(module).items() if is_ours(value, name)]
        for key, value in list(places):
            if inspect.isclass(value):
                places += [(f"{key}.{part}", member) for part, member in vars(value).items() if not part.startswith("__")]
        for key, value in places:
            text = inspect.getdoc(value) or ""
            if ">>>" in text:
                yield key, text


def is_ours(value: Any, module: str) -> bool:
    if module == "lictor._lictor":
        return inspect.isclass(value) or inspect.isroutine(value)
    return getattr(value, "__module__", None) == module


EXAMPLES = dict(documented())


def test_docstrings_have_examples() -> None:
    assert len(EXAMPLES) > 20
    assert {"lictor._lictor.Session", "lictor._lictor.Formula", "lictor.report.audit"} <= set(EXAMPLES)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_docstring_example_runs(name: str) -> None:
    module = importlib.import_module(name if name in MODULES else ".".join(name.split(".")[:2]))
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], dict(vars(module)), name, name, 0)
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example)
    assert result.attempted > 0 and result.failed == 0


def test_public_names_have_docstrings() -> None:
    silent = [name for name in lictor.__all__ if not (inspect.getdoc(getattr(lictor, name)) or "").strip()]
    assert silent == []
