"""A stand-in for S3 on this machine."""

from __future__ import annotations

import itertools
import logging
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

Answer = Callable[..., Any]

BUCKET = "bucket"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "made-up",
    "AWS_SECRET_ACCESS_KEY": "made-up",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}
NUMBERS = itertools.count()


@dataclass(frozen=True)
class StandIn:
    """An S3 server on loopback."""

    endpoint: str

    def ask(self, path: str, method: str, content: bytes = b"") -> None:
        """Send a request that is not signed."""
        assert self.endpoint.startswith("http://127.0.0.1:")
        request = urllib.request.Request(
            self.endpoint + path, content, {"Content-Type": "text/plain"}, method=method
        )
        with urllib.request.urlopen(request, timeout=20):
            pass


def one_at_a_time(answer: Answer) -> Answer:
    """Return what answers one request after the other, so that it creates an object once, as S3 does.

    Moto looks whether an object is there, and then makes it; another thread may come in between.
    """
    lock = threading.Lock()

    def locked(*request: Any) -> Any:
        with lock:
            return answer(*request)

    return locked


@pytest.fixture(scope="session")
def stand_in() -> Iterator[StandIn]:
    pytest.importorskip("obstore", reason="the extra s3 is not installed")
    server_module = pytest.importorskip("moto.server", reason="moto is not installed")
    app = pytest.importorskip("moto.moto_server.werkzeug_app").DomainDispatcherApplication
    app.__call__ = one_at_a_time(app.__call__)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        made = StandIn(f"http://{host}:{port}")
        made.ask(f"/{BUCKET}", "PUT")
        yield made
    finally:
        server.stop()


@pytest.fixture
def s3(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> str:
    """URL of a prefix where nothing is; the environment leads to the stand-in."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", stand_in.endpoint)
    return f"s3://{BUCKET}/of test {next(NUMBERS)}/study.zarr"


@pytest.fixture(params=["directory", pytest.param("s3", marks=pytest.mark.s3)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Path or URL where no study is yet."""
    return str(request.getfixturevalue("s3") if request.param == "s3" else tmp_path / "study")
