"""A real Chromium without a screen, spoken to through a pipe (the DevTools protocol), for pages on disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str | None:
    """Return the path of an installed Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Tab:
    """One page of the browser, with everything it said and asked for."""

    def __init__(self, send: IO[bytes], receive: IO[bytes]) -> None:
        self._send, self._receive = send, receive
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to one request; what arrives meanwhile is kept in `events`."""
        self._number += 1
        words: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            words["sessionId"] = self._session
        self._send.write(json.dumps(words).encode() + b"\0")
        self._send.flush()
        while True:
            message = self._next()
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                answer: dict[str, Any] = message["result"]
                return answer

    def _next(self) -> dict[str, Any]:
        letters = bytearray()
        while (letter := self._receive.read(1)) != b"\0":
            if not letter:
                raise RuntimeError("the browser has gone")
            letters += letter
        message: dict[str, Any] = json.loads(letters)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, page: Path) -> None:
        """Show a file, and wait until it is loaded."""
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()

    def value(self, expression: str) -> Any:
        """Return what a JavaScript expression gives on the page."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def resize(self, width: int, height: int = 900, *, phone: bool = False) -> None:
        """Give the page another width; a phone's pixels are finer."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone
        )  # fmt: skip

    def media(self, kind: str = "", scheme: str = "light") -> None:
        """Show the page as on a screen or in print, light or dark."""
        self.call(
            "Emulation.setEmulatedMedia",
            media=kind,
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def complaints(self) -> list[str]:
        """Return errors and warnings of the console, and exceptions."""
        found = []
        for event in self.events:
            if event["method"] == "Log.entryAdded":
                found.append(str(event["params"]["entry"]["text"]))
            if event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                found.append(json.dumps(event["params"])[:500])
        return found

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the page was opened."""
        return [
            str(event["params"]["request"]["url"])
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]


@contextmanager
def browser(program: str) -> Iterator[Tab]:
    """Start a browser with an empty profile, and yield one page; end it afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # Chromium reads requests from its descriptor 3 and answers on 4.
        read_there, write_here = os.pipe()
        read_here, write_there = os.pipe()
        command = f'exec "$0" "$@" 3<&{read_there} 4>&{write_there}'
        process = subprocess.Popen(
            ["/bin/bash", "-c", command, program, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(read_there, write_there), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(read_there)
        os.close(write_there)
        try:
            with os.fdopen(write_here, "wb") as send, os.fdopen(read_here, "rb") as receive:
                yield Tab(send, receive)
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
