"""Module paths of version 0.1.0 that programs outside use, kept until 0.3.0."""

from __future__ import annotations

import runpy
import sys

import pytest

from scorecube.execute import authority, certificates
from scorecube.ingest import facts, published


def test_former_modules_have_what_the_present_ones_have() -> None:
    assert authority.write_authority is certificates.write_authority
    assert facts.ntcir_clir is published.ntcir_clir


def test_the_former_module_of_certificates_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["authority"])
    monkeypatch.delitem(sys.modules, authority.__name__)
    with pytest.raises(SystemExit, match="usage: python -m"):
        runpy.run_module(authority.__name__, run_name="__main__")
