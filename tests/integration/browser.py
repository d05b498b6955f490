# SPDX-License-Identifier: MIT
"""A headless Chromium, told what to do through its DevTools protocol over two pipes."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = "chromium-headless-shell"
KEYS = {"Escape": 27, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Failed(Exception):
    """The browser refused a command, or did not answer."""


class Browser:
    """One window with one page. `errors` is what went wrong in it, `requests` what it asked for."""

    def __init__(self, width=1280, height=800, patience=60):
        self.patience = patience
        self.home = tempfile.mkdtemp(prefix="browser.")
        to_browser, self.out = os.pipe()
        self.input, from_browser = os.pipe()
        # In the browser they are 3 and 4: moved out of the way first, then where they belong.
        high = [os.dup2(fd, 100 + i) for i, fd in enumerate((to_browser, from_browser))]
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["bash", "-c", 'exec "$@" 3<&100 4>&101', "bash", PROGRAM,
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-extensions", "--remote-debugging-pipe", f"--user-data-dir={self.home}",
             f"--window-size={width},{height}", "about:blank"],
            pass_fds=high, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=self.home))
        for fd in high + [to_browser, from_browser]:
            os.close(fd)
        self.buffer = b""
        self.n_sent = 0
        self.errors = []
        self.requests = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the browser, which ends its own processes, and forgets what it kept."""
        os.close(self.out)
        os.close(self.input)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    # --- the protocol

    def _message(self, end):
        while b"\0" not in self.buffer:
            ready = select.select([self.input], [], [], max(0, end - time.monotonic()))[0]
            read = os.read(self.input, 1 << 20) if ready else b""
            if not read:
                raise Failed("the browser says nothing")
            self.buffer += read
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def _note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, **params):
        """Sends a command and returns its result."""
        self.n_sent += 1
        message = {"id": self.n_sent, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        end = time.monotonic() + self.patience
        while True:
            answer = self._message(end)
            if answer.get("id") == self.n_sent:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    # --- the page

    def resize(self, width, height, scale=1):
        """The size of the window, in CSS pixels, and how many pixels one of those is."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=False)

    def media(self, **features):
        """What CSS asks of the user: prefers_color_scheme="dark"."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": name.replace("_", "-"), "value": v} for name, v in features.items()])

    def open(self, url):
        """Returns when the page has run its script; how long that took, in seconds."""
        begin = time.monotonic()
        self.call("Page.navigate", url="about:blank")
        self.requests.clear()
        self.call("Page.navigate", url=url)
        self.wait(f"location.href.startsWith({json.dumps(url.split('#')[0])}) && "
                  "document.readyState === 'complete'")
        return time.monotonic() - begin

    def eval(self, expression):
        """The value of an expression of JavaScript."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failed(result["exceptionDetails"].get("exception", {}).get("description", "?"))
        return result["result"].get("value")

    def settle(self):
        """Until what was changed has been drawn, animations included."""
        self.eval("new Promise(done => setTimeout(() => "
                  "requestAnimationFrame(() => requestAnimationFrame(done)), 250))")

    def wait(self, expression, seconds=60):
        """Until an expression is true."""
        end = time.monotonic() + seconds
        while not self.eval(f"!!({expression})"):
            if time.monotonic() > end:
                raise Failed(f"not within {seconds} s: {expression}")
            time.sleep(0.02)

    def mouse(self, kind, x, y, **more):
        """mouseMoved, mousePressed, mouseReleased, mouseWheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        """A click, or as many as make a double click."""
        self.mouse("mouseMoved", x, y)
        for n in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, x, y, button="left", clickCount=n)

    def key(self, key):
        """One key; a text is typed as it is."""
        if key in KEYS:
            for kind in ("rawKeyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                          windowsVirtualKeyCode=KEYS[key])
            return
        for character in key:
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=character,
                          text=character if kind == "keyDown" else "")

    def screenshot(self, path):
        """The window as a PNG file."""
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
