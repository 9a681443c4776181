"""Public collections are fetched once, checked, and never half there; the server is of this test, on loopback."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scorecube.ingest import public
from scorecube.ingest.public import (
    ADDRESS_VARIABLE,
    CACHE_VARIABLE,
    fetch,
    fetch_files,
    public_collections,
)
from scorecube.storage import open_study

if TYPE_CHECKING:
    from tests.conftest import Cli

COMMIT = "0123abcd"
MATRICES = {
    "data/toy_ap.csv": b"a,b\n0.1,0.2\n0.3,0.4\n0.5,7e-04\n",
    "data/toy_rr.csv": b"a,b\r\n1,0.5\r\n0,1\r\n0.25,0\r\n",
}
METRICS = {"data/toy_ap.csv": "AP", "data/toy_rr.csv": "RR"}


@dataclass
class Served:
    """What a server gives away, and what it was asked for."""

    address: str = ""
    content: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    cut_short: bool = False


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    state = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            content = state.content.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write((content or b"")[: 9 if state.cut_short else None])

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.address = f"http://127.0.0.1:{server.server_port}"
        yield state
        server.shutdown()
        thread.join()


@pytest.fixture
def toy(tmp_path: Path, served: Served, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry of one made-up collection; the server holds its files."""
    lines = [
        f'base = "{served.address}"', '[licences."Toy 1.0"]', 'address = "https://example.org/toy"', 'asks = "Smile."',
        "[sources]", f'"someone/scores" = {{ commit = "{COMMIT}", licence = "Toy 1.0", cite = "Someone, 2020" }}',
        "[collections.toy]", 'title = "Toys"', 'source = "someone/scores"', "runs = 2", "topics = 3", "files = [",
    ]  # fmt: skip
    for path, content in MATRICES.items():
        served.content[f"/someone/scores/{COMMIT}/{path}"] = content
        digest = hashlib.sha256(content).hexdigest()
        lines.append(f'{{ path = "{path}", metric = "{METRICS[path]}", sha256 = "{digest}" }},')
    registry = tmp_path / "registry.toml"
    registry.write_text("\n".join([*lines, "]", ""]))
    monkeypatch.setattr(public, "REGISTRY", registry)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return registry


def files_below(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


def test_a_second_call_asks_for_nothing_and_a_damaged_file_is_fetched_again(
    tmp_path: Path, toy: Path, served: Served
) -> None:
    paths = fetch_files("toy")
    assert [path.read_bytes() for path in paths] == list(MATRICES.values())
    assert len(served.asked) == 2
    assert fetch_files("toy") == paths
    assert len(served.asked) == 2
    paths[1].write_bytes(b"damaged")
    fetch_files("toy")
    assert [path.read_bytes() for path in paths] == list(MATRICES.values())
    assert served.asked[2:] == [f"/someone/scores/{COMMIT}/data/toy_rr.csv"]


@pytest.mark.parametrize("cut_short", [False, True], ids=["other content", "cut short"])
def test_other_bytes_than_expected_are_refused_and_leave_nothing(
    tmp_path: Path,
    toy: Path,
    served: Served,
    scorecube: Cli,
    monkeypatch: pytest.MonkeyPatch,
    cut_short: bool,
) -> None:
    path = f"/someone/scores/{COMMIT}/data/toy_rr.csv"
    served.cut_short = cut_short
    if not cut_short:
        served.content[path] = b"<html>Please log in</html>"
    monkeypatch.setattr(public, "REGISTRY", toy)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    done = scorecube("fetch", "toy", "--into", tmp_path / "s.zarr")
    assert done.status == 1
    assert not (tmp_path / "s.zarr").exists()
    place = f"someone/scores/{COMMIT}/data"
    assert files_below(tmp_path / "cache") == ([] if cut_short else [f"{place}/toy_ap.csv"])
    assert done.stderr.count("error:") == 1


def test_without_network_there_is_one_message_and_what_was_fetched_works(
    tmp_path: Path, toy: Path, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch_files("toy")
    monkeypatch.setattr(public, "REGISTRY", toy)
    monkeypatch.setenv(ADDRESS_VARIABLE, "http://127.0.0.1:9")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "empty"))
    words = ["fetch", "toy", "--into", tmp_path / "s.zarr"]
    failed = scorecube(*words)
    assert failed.status == 1
    assert failed.stderr.startswith("error: http://127.0.0.1:9/someone/scores/")
    assert not (tmp_path / "s.zarr").exists()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    scorecube(*words).succeeded()
    assert list(open_study(tmp_path / "s.zarr")) == ["toy"]


def test_the_command_says_and_stores_the_licence_and_repeats_without_change(
    tmp_path: Path, toy: Path, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "s.zarr"
    monkeypatch.setattr(public, "REGISTRY", toy)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    words = ["fetch", "toy", "--into", study]
    done = scorecube(*words).succeeded()
    assert "https://example.org/toy" in done.stderr
    assert "licence  Toy 1.0" in scorecube("info", study).succeeded().stdout
    assert open_study(study)["toy"].cube.attrs["source"] == f"someone/scores @ {COMMIT}"
    before = {path: path.stat().st_mtime_ns for path in study.rglob("*")}
    scorecube(*words).succeeded()
    assert {path: path.stat().st_mtime_ns for path in study.rglob("*")} == before


FOLDERS = {"robust2004-99": "robust2004"}
"""Where a collection lies beside this repository, if not under its own name."""


@pytest.mark.data
@pytest.mark.parametrize("name", list(public_collections()))
def test_real_collections_arrive_as_the_registry_says(
    data: Path, tmp_path: Path, served: Served, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, served.address)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    known = public_collections()[name]
    lying = {
        hashlib.sha256(path.read_bytes()).hexdigest(): path.read_bytes()
        for path in (data / FOLDERS.get(name, name)).glob("*.csv")
    }
    for file in known.files:
        served.content[f"/{known.repository}/{known.commit}/{file['path']}"] = lying[file["sha256"]]
    cube = fetch(name)
    assert (cube.sizes["run"], cube.sizes["topic"]) == (known.runs, known.topics)
    assert cube.attrs["licence"].startswith(known.licence)
    assert cube["metric"].values.tolist() == [file["metric"] for file in known.files]
    assert (
        f"{known.repository} @ {known.commit}"
        in (data / FOLDERS.get(name, name) / "README.md").read_text()
    )
    assert known.licence in (data / FOLDERS.get(name, name) / "README.md").read_text()
