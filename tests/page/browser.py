# SPDX-License-Identifier: MIT
"""browser.py - a headless Chromium, driven over its debugging pipe."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

WAIT_S = 60 * float(os.environ.get("WEIR_TEST_SLOW", "1"))
NAMES = ("chromium", "chromium-browser", "google-chrome")


def find():
    """The path of a Chromium; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def raised(fd):
    """The same with a number that is neither of those that it becomes."""
    high = fcntl.fcntl(fd, fcntl.F_DUPFD, 10)
    os.close(fd)
    return high


class Browser:
    """One page. `troubles` are the exceptions of its scripts, and what its console says about errors;
    `requests` are the addresses that it has asked for."""

    def __init__(self):
        self.home = tempfile.TemporaryDirectory(prefix="weir-browser-", ignore_cleanup_errors=True)
        theirs_in, self.out = os.pipe()
        self.input, theirs_out = os.pipe()
        theirs_in, theirs_out = raised(theirs_in), raised(theirs_out)
        self.process = subprocess.Popen(
            ["bash", "-c", 'exec "$0" "$@" 3<&%d 4>&%d' % (theirs_in, theirs_out), find(),
             "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--no-first-run", "--hide-scrollbars",
             "--disable-background-networking",
             "--disable-component-update", "--user-data-dir=" + self.home.name, "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.data, self.session = 0, b"", None
        self.troubles, self.requests = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.input)
        self.home.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()

    def receive(self, until):
        while b"\0" not in self.data:
            ready = select.select([self.input], [], [], max(0, until - time.monotonic()))[0]
            assert ready, "the browser does not answer"
            data = os.read(self.input, 1 << 20)
            assert data, "the browser has ended"
            self.data += data
        message, self.data = self.data.split(b"\0", 1)
        return json.loads(message)

    def take_event(self, message):
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.troubles.append(json.dumps(params["exceptionDetails"])[:500])
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        if message.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.troubles.append(params["entry"]["text"])

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session is not None:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        until = time.monotonic() + WAIT_S
        while True:
            message = self.receive(until)
            if message.get("id") == self.number:
                assert "error" not in message, (method, message)
                return message["result"]
            self.take_event(message)

    def ask(self, expression):
        """The value of an expression in the page; waits for it if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer)
        return answer["result"].get("value")

    def wait(self, expression):
        """Waits until the expression is true."""
        until = time.monotonic() + WAIT_S
        while not self.ask("Boolean(%s)" % expression):
            assert time.monotonic() < until, "never true: " + expression
            time.sleep(0.05)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("location.href === %s && document.readyState === 'complete'" % json.dumps(url))

    def hurry(self, factor):
        """Timers of the pages opened from now on run faster."""
        self.call("Page.addScriptToEvaluateOnNewDocument",
                  source="const slow = setTimeout; setTimeout = (f, ms) => slow(f, ms / %d);" % factor)

    def resize(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=mobile)

    def prefer(self, theme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def picture(self):
        """As a PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
