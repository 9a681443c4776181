"""JSON as text for terminals and files."""

from __future__ import annotations

import json
from typing import Any

from scorecube.errors import CONTROL


def as_json(value: Any) -> str:
    """Return JSON in which control characters stand as escapes, which readers turn back."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    return CONTROL.sub(
        lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text
    )
