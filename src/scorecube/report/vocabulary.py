"""Words of people who evaluate models in place of the field's, in what commands print; what is stored keeps the field's."""

from __future__ import annotations

import re

FIELD, EVALS = "field", "evals"
WORDS = {"run": "model", "topic": "item", "collection": "benchmark", "repetition": "seed"}
"""Word of the field -> word of those who evaluate models."""
MODELS = re.compile(r"\b(run|system) = \S*(model|llm|agent|checkpoint)", re.IGNORECASE)
"""What columns of models are taken for."""
QUOTED = r"('[^']*'|--\S+)"
NAMED = r"(?<![\w.#/=-])(run|topic|collection|repetition|system)(s?)(?![\w#/=]|-\w|\.\w)"
WORD = re.compile(f"{QUOTED}|{NAMED}", re.IGNORECASE)
"""A quoted label or a flag, which stays; or a word."""
MARKUP = re.compile(r"(<(script|style|svg|tbody|title)\b.*?</\2>|<[^>]*>)", re.DOTALL)
"""Of a page: scripts, figures, and rows of tables, which have labels in them; and tags."""


def in_words(text: str, vocabulary: str) -> str:
    """Return a text of commands in the words of a vocabulary.

    Where a text compares systems over their runs, the systems are the models.

    Examples
    --------
    >>> in_words("AP: m3 leads 3 of 40 runs over topics [95%, --by-run]", "evals")
    'AP: m3 leads 3 of 40 models over items [95%, --by-run]'
    >>> in_words("systems over their runs, of 2 collections", "evals")
    'models over their runs, of 2 benchmarks'
    """
    if vocabulary != EVALS:
        return text
    words = WORDS | {"system": "system"}
    if any((found[2] or "").lower() == "system" for found in WORD.finditer(text)):
        words |= {"run": "run", "system": "model"}

    def other(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        word = words[found[2].lower()]
        return (word.capitalize() if found[2][0].isupper() else word) + found[3]

    return WORD.sub(other, text)


def page_in_words(page: str, vocabulary: str) -> str:
    """Return a page in the words of a vocabulary, without rows of tables and figures.

    Examples
    --------
    >>> page_in_words("<th class='run'>run<tbody><td>run a</tbody>", "evals")
    "<th class='run'>model<tbody><td>run a</tbody>"
    """
    if vocabulary != EVALS:
        return page
    parts = MARKUP.split(page)
    parts[::3] = [in_words(part, vocabulary) for part in parts[::3]]
    del parts[2::3]  # names of tags
    return "".join(parts)
