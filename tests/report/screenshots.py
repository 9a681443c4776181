"""Make pictures of a report as people see it: ``python -m tests.report.screenshots report.html FOLDER``.

At desktop and phone width, light and dark, and in print; a page a file. Needs Chromium (Debian's package chromium).
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path

from tests.report.browser import browser, find_chromium

VIEWS = {
    "desktop": (1440, False, "light"),
    "tablet-dark": (900, False, "dark"),
    "phone": (390, True, "light"),
    "phone-dark": (390, True, "dark"),
}
SCREENS = 4
"""Pictures of each view, one below the other."""
HEIGHT = 1600


def take(page: Path, folder: Path) -> list[Path]:
    """Return the pictures that were made of a page."""
    program = find_chromium()
    if program is None:
        raise SystemExit("no Chromium is installed (Debian's package is called chromium)")
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with browser(program) as tab:
        for name, (width, phone, scheme) in VIEWS.items():
            tab.resize(width, phone=phone)
            tab.media(scheme=scheme)
            tab.open(page)
            total = tab.value("document.documentElement.scrollHeight")
            for k in range(SCREENS):
                if k * HEIGHT < total:
                    made.append(folder / f"{page.stem}-{name}-{k + 1}.png")
                    tab.screenshot(made[-1], top=k * HEIGHT, height=HEIGHT)
        tab.media("print")
        printed = tab.call("Page.printToPDF", preferCSSPageSize=False, printBackground=True)
        made.append(folder / f"{page.stem}-print.pdf")
        made[-1].write_bytes(base64.b64decode(printed["data"]))
    return made


if __name__ == "__main__":
    for picture in take(Path(sys.argv[1]), Path(sys.argv[2])):
        print(picture)
