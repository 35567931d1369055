# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that tests steer by its DevTools protocol, over two pipes."""

import base64
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
LIMIT = 60  # seconds of an answer


class Browser:
    """with Browser(folder) as browser: page = browser.open(path, width=390)"""

    def __init__(self, folder):
        home = os.path.join(folder, "home")
        os.makedirs(home, exist_ok=True)
        their_in, self._out = os.pipe()
        self._in, their_out = os.pipe()
        # Chromium reads its descriptor 3 and writes 4.
        high = [fcntl.fcntl(one, fcntl.F_DUPFD, 64) for one in (their_in, their_out)]

        def connect():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe",
             "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={home}"],
            preexec_fn=connect, pass_fds=(3, 4), env=dict(os.environ, HOME=home),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for descriptor in (their_in, their_out, *high):
            os.close(descriptor)
        os.set_blocking(self._in, False)
        self._buffer, self._number, self._session = b"", 0, None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._out)
        os.close(self._in)
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()

    def _receive(self):
        end = time.monotonic() + LIMIT
        while b"\0" not in self._buffer:
            try:
                piece = os.read(self._in, 1 << 20)
                if not piece:
                    raise RuntimeError("chromium ended")
                self._buffer += piece
            except BlockingIOError:
                if time.monotonic() > end:
                    raise TimeoutError("chromium does not answer") from None
                time.sleep(0.005)
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            request["sessionId"] = self._session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        while True:
            message = self._receive()
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def _wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._receive())

    def open(self, path, width, *, height=900, scripts=True, dark=False):
        """Loads a file. complaints() and asked() are then about it."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 700)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events = []
        self.call("Page.navigate", url=f"file://{path}")
        self._wait_for("Page.loadEventFired")

    def complaints(self):
        """Messages on the console, exceptions, and entries of the log since the page was opened."""
        said = []
        for event in self.events:
            if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                said.append(json.dumps(event["params"]))
        return said

    def asked(self):
        """Addresses that the page asked for."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def screenshot(self, target, height=None):
        """Of the whole page, or of its first part."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"],
                "height": min(height or size["height"], size["height"], 15000), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        with open(target, "wb") as file:
            file.write(base64.b64decode(data))

    def print(self, target):
        """As a PDF of A4 pages."""
        data = self.call("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)["data"]
        with open(target, "wb") as file:
            file.write(base64.b64decode(data))
