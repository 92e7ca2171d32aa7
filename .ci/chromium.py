"""A headless Chromium by its DevTools protocol. Needs `chromium` (Debian) and nothing else that is not in Python."""

import json
import os
import select
import subprocess
import sys
import time

LIMIT_SECONDS = 40


class Browser:
    """Chromium by its DevTools protocol, over two pipes: one JSON text after the other, each ended by a zero."""

    def __init__(self, executable, profile):
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()

        # Chromium reads on 3 and writes on 4. First out of the way, where one of the pipes has such a number itself.
        def prepare():
            high = [os.dup2(fd, 200 + index) for index, fd in enumerate((to_read, from_write))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [executable, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
             "--disable-dev-shm-usage", "--window-size=1440,900", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=prepare, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.waiting = b""
        self.next_id = 0
        self.session = None
        self.complaints = []
        self.has_loaded = False

    def message(self, deadline):
        while b"\0" not in self.waiting:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.from_read], [], [], left)[0]:
                sys.exit("check-dev-page: Chromium does not answer")
            piece = os.read(self.from_read, 1 << 20)
            if not piece:
                sys.exit("check-dev-page: Chromium has ended")
            self.waiting += piece
        text, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(text)

    def heed(self, message):
        method, values = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.has_loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(values["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(part.get("value", part.get("description"))) for part in values["args"]))
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            entry = values["entry"]
            self.complaints.append(f"{entry['text']} {entry.get('url', '')}")

    def call(self, method, **values):
        self.next_id += 1
        wanted = self.next_id
        request = {"id": wanted, "method": method, "params": values}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to_write, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            message = self.message(deadline)
            if message.get("id") == wanted:
                if "error" in message:
                    sys.exit(f"check-dev-page: {method}: {message['error']['message']}")
                return message["result"]
            self.heed(message)

    def open(self, address):
        """A new tab, which is the one that is used from then on; its name."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page", "Accessibility"):
            self.call(f"{domain}.enable")
        self.go(address)
        return target

    def go(self, address):
        self.load("Page.navigate", url=address)

    def reload(self):
        self.load("Page.reload")

    def load(self, method, **values):
        self.has_loaded = False
        self.call(method, **values)
        deadline = time.monotonic() + LIMIT_SECONDS
        while not self.has_loaded:
            self.heed(self.message(deadline))

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            sys.exit(f"check-dev-page: {script[:80]} …: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def until(self, condition, what):
        """Waits for the page to become so; looks whenever it has changed."""
        found = self.run(
            """new Promise((found) => {
                 const look = () => { try { return Boolean(%s); } catch { return false; } };
                 if (look()) return found(true);
                 const observer = new MutationObserver(() => { if (look()) { observer.disconnect(); found(true); } });
                 const start = () => observer.observe(document.documentElement, { subtree: true, childList: true, attributes: true, characterData: true });
                 start();
                 setTimeout(() => found(look()), %d);
               })""" % (condition, (LIMIT_SECONDS - 10) * 1000))
        if not found:
            sys.exit(f"check-dev-page: waited in vain for {what}; the page says: {self.run('document.body.innerText')[:2000]}")

    def press(self, key, code, text="", modifiers=0):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, text=text, modifiers=modifiers)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code, modifiers=modifiers)

    def close(self):
        os.close(self.to_write)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
