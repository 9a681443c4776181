"""Print what happens to odd inputs: ``python -m tests.odd_inputs WORD ...``."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.odd_inputs import CASES, observe

for name, case in CASES.items():
    if any(word in name for word in sys.argv[1:]):
        with TemporaryDirectory() as folder:
            print(f"{name}:\n  {observe(case, Path(folder))!r}")
