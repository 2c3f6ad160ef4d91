"""Drives a headless Chromium over its DevTools pipe, with the standard library alone."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HOW_TO_GET_IT = (
    "no Chromium here: scripts/browser installs it (Debian's `chromium`), or set CHROMIUM to one"
)
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
# Chromium reads commands from descriptor 3 and answers on 4. First away with what may lie there.
_ON_3_AND_4 = """
import fcntl, os, sys
commands, answers = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(commands, 3)
os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class BrowserError(Exception):
    """The browser refused a command, or did not answer in time."""


def find_chromium() -> str:
    """The program's path; empty where there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), "")


@contextmanager
def open_browser(program: str) -> Iterator[Browser]:
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        browser = Browser(program, Path(profile))
        try:
            yield browser
        finally:
            browser.close()


class Browser:
    def __init__(self, program: str, profile: Path) -> None:
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        path = shutil.which(program) or program
        start = (sys.executable, "-c", _ON_3_AND_4, str(commands), str(answers), path)
        self._process = subprocess.Popen(
            [*start, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._buffer = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def open(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> Page:
        """A new page of that size, which remembers nothing; waits until it has loaded."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)
        target = target["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.go(url)
        return page

    def close(self) -> None:
        try:
            self.call("Browser.close", timeout=5)
        except (BrowserError, OSError):
            self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def call(
        self, method: str, session: str = "", timeout: float = 60, **parameters: Any
    ) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + timeout
        while True:
            answer = self.receive(end)
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result

    def receive(self, end: float) -> dict[str, Any]:
        """The next message; what happened on a page is noted there."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise BrowserError("the browser did not answer in time")
            more = os.read(self._from, 1 << 20)
            if not more:
                raise BrowserError(f"the browser has ended, status {self._process.poll()}")
            self._buffer += more
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message and message.get("sessionId") in self._pages:
            self._pages[message["sessionId"]].note(message["method"], message["params"])
        return message


class Page:
    """One page, and what happened on it."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self._loads = 0
        self._asked: dict[str, str] = {}
        self._complaints: list[str] = []
        self.requested: list[str] = []

    @property
    def complaints(self) -> list[str]:
        """What a console shows by now, and requests that failed."""
        self.ask("new Promise(done => setTimeout(done))")  # what is under way arrives before this
        return self._complaints

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def note(self, method: str, what: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loads += 1
        elif method == "Network.requestWillBeSent":
            self._asked[what["requestId"]] = what["request"]["url"]
            self.requested.append(what["request"]["url"])
        elif method == "Network.loadingFailed" and not what.get("canceled"):
            url = self._asked.get(what["requestId"], "?")
            self._complaints.append(f"{url}: {what['errorText']}")
        elif method == "Network.responseReceived" and what["response"]["status"] >= 400:
            self._complaints.append(f"{what['response']['url']}: {what['response']['status']}")
        elif method == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            thrown = details.get("exception", {}).get("description", details["text"])
            self._complaints.append(f"exception: {thrown}")
        elif method == "Runtime.consoleAPICalled" and what["type"] in (
            "error",
            "warning",
            "assert",
        ):
            words = [str(each.get("value", each.get("description"))) for each in what["args"]]
            self._complaints.append(f"console.{what['type']}: {' '.join(words)}")
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self._complaints.append(f"{what['entry']['source']}: {what['entry']['text']}")

    def go(self, url: str) -> None:
        before = self._loads
        failed = self.call("Page.navigate", url=url).get("errorText")
        if failed:
            raise BrowserError(f"{url}: {failed}")
        self._wait_for_load(before)

    def ask(self, expression: str) -> Any:
        """What JavaScript makes of it; promises are waited for."""
        answer = self.call(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait_for(self, expression: str, timeout: float = 20) -> Any:
        """Until it is true; its value."""
        end = time.monotonic() + timeout
        while not (value := self.ask(expression)):
            if time.monotonic() > end:
                raise BrowserError(f"never came true: {expression}")
            time.sleep(0.05)
        return value

    def click(self, selector: str, index: int = 0) -> None:
        """As a person would: the mouse goes to the middle of what can be seen of the element."""
        place = self.ask(
            f"""(() => {{
              const found = document.querySelectorAll({json.dumps(selector)})[{index}];
              if (!found) return null;
              found.scrollIntoView({{block: "center", behavior: "instant"}});
              const box = [...found.getClientRects()].find(each => each.width && each.height);
              return box && {{x: box.x + box.width / 2, y: box.y + box.height / 2}};
            }})()"""
        )
        if not place:
            raise BrowserError(f"nothing to click on: {selector} [{index}]")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **place, button="left", clickCount=1)

    def follow(self, selector: str, index: int = 0) -> None:
        """Clicks on a link, and waits for the page behind it."""
        before = self._loads
        self.click(selector, index)
        self._wait_for_load(before)

    def type(self, text: str) -> None:
        """Into what has the focus."""
        self.call("Input.insertText", text=text)

    def screenshot(self, selector: str = "") -> bytes:
        """A PNG of what can be seen, or of one element, whole."""
        options: dict[str, Any] = {}
        if selector:
            box = self.ask(
                f"(({{x, y, width, height}}) => ({{x, y, width, height, scale: 1}}))"
                f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
            )
            options = {"clip": box, "captureBeyondViewport": True}
        picture = self.call("Page.captureScreenshot", format="png", **options)
        return base64.b64decode(picture["data"])

    def _wait_for_load(self, before: int, timeout: float = 60) -> None:
        end = time.monotonic() + timeout
        while self._loads == before:
            self._browser.receive(end)
