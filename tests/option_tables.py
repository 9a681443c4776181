"""Print the options of all analyses as Markdown, for the documentation: ``python -m tests.option_tables``."""

from __future__ import annotations

from scorecube.analyses import registry
from scorecube.analyses.options import markdown_table, option_table


def option_tables() -> str:
    """Return a heading and a table for each analysis."""
    parts = []
    for entry in registry.entries():
        rows = option_table(registry.load(entry.name))
        for row in rows:
            row |= {key: f"`{row[key]}`" for key in ("argument", "flag", "default") if row[key]}
        parts.append(f"## {entry.name}\n\n{entry.summary}\n\n{markdown_table(rows)}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(option_tables())
