"""A real Chromium, driven over its own protocol: pages, clicks, typing, files, screenshots."""

import asyncio
import base64
import itertools
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

WAIT_SECONDS = 120.0
AXE = Path(__file__).parents[2] / "vendor" / "axe-core" / "axe.min.js"


def chromium() -> str | None:
    """Where a Chromium is, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((program for name in names if (program := shutil.which(name))), None)


class _Wire:
    """Commands and their answers over one websocket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self._socket:
            facts = json.loads(message.data)
            waiting = self._waiting.pop(facts.get("id", 0), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(facts)

    async def call(self, method: str, session: str | None = None, **given: Any) -> dict[str, Any]:
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        message = {"id": number, "method": method, "params": given}
        await self._socket.send_json(message | ({"sessionId": session} if session else {}))
        outcome = await asyncio.wait_for(answer, WAIT_SECONDS)
        assert "error" not in outcome, (method, outcome.get("error"))
        result: dict[str, Any] = outcome["result"]
        return result


@dataclass
class Tab:
    """One page in a context of its own: its cookies are nobody else's."""

    wire: _Wire
    session: str
    invitation: str = ""

    async def run(self, script: str) -> Any:
        """What a script returns."""
        result = await self.wire.call(
            "Runtime.evaluate",
            self.session,
            expression=script,
            awaitPromise=True,
            returnByValue=True,
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    async def goto(self, address: str) -> None:
        """Open an address, and wait until it is loaded."""
        await self.wire.call("Page.navigate", self.session, url=address)
        await self.until("document.readyState === 'complete'")

    async def until(self, script: str, *, seconds: float = WAIT_SECONDS) -> None:
        """Wait until a script says yes."""
        try:
            async with asyncio.timeout(seconds):
                while not await self._tried(script):  # noqa: ASYNC110 - pages tell nothing
                    await asyncio.sleep(0.2)
        except TimeoutError as error:
            raise AssertionError(f"{script}\nnever came true on\n{await self.text()}") from error

    async def _tried(self, script: str) -> bool:
        try:
            return bool(await self.run(script))
        except AssertionError:
            return False  # between two pages there is none

    async def text(self) -> str:
        """What a person reads."""
        return str(await self.run("document.body.innerText"))

    async def fill(self, name: str, value: str, *, within: str = "") -> None:
        """Type into a field of that name."""
        where = json.dumps(f"{within} [name={name}]".strip())
        await self.run(f"document.querySelector({where}).value = {json.dumps(value)}")

    async def press(self, words: str) -> None:
        """Press the button with these words, and wait for the page that follows."""
        button = (
            "Array.from(document.querySelectorAll('button'))"
            f".find(one => one.textContent === {json.dumps(words)})"
        )
        # The part of the page with the button may be renewed at any moment.
        await self.until(f"{button} && (window.old = true) && ({button}.click(), true)")
        await self.until("!window.old && document.readyState === 'complete'")

    async def type(self, words: str) -> None:
        """Type where the cursor is."""
        await self.wire.call("Input.insertText", self.session, text=words)

    async def enter(self) -> None:
        """Press the key that sends a form, and wait for the page that follows."""
        await self.run("window.old = true")
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        for kind in ("keyDown", "keyUp"):
            await self.wire.call("Input.dispatchKeyEvent", self.session, type=kind, **key)
        await self.until("!window.old && document.readyState === 'complete'")

    async def drop_file(self, selector: str, path: Path) -> None:
        """Drop a file on an element, as a hand with a mouse does."""
        given = {"name": path.name, "text": path.read_text(encoding="utf-8")}  # noqa: ASYNC240
        await self.run(
            f"(function (given) {{ var moved = new DataTransfer();"
            "moved.items.add(new File([given.text], given.name));"
            f"document.querySelector({json.dumps(selector)}).dispatchEvent(new DragEvent('drop',"
            "{ dataTransfer: moved, bubbles: true, cancelable: true })); })"
            f"({json.dumps(given)})"
        )

    async def sized(self, width: int, *, dark: bool = False) -> None:
        """A window of this width, dark or light."""
        await self.wire.call(
            "Emulation.setDeviceMetricsOverride",
            self.session,
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.wire.call("Emulation.setEmulatedMedia", self.session, features=[scheme])

    async def printed(self, width: int) -> None:
        """Laid out as on paper of this width."""
        await self.sized(width)
        await self.wire.call("Emulation.setEmulatedMedia", self.session, media="print")

    async def scripts(self, *, enabled: bool) -> None:
        """Whether pages may run scripts of their own."""
        await self.wire.call(
            "Emulation.setScriptExecutionDisabled", self.session, value=not enabled
        )

    async def screenshot(self, path: Path) -> None:
        """The whole page as a picture."""
        result = await self.wire.call(
            "Page.captureScreenshot", self.session, captureBeyondViewport=True
        )
        path.write_bytes(base64.b64decode(result["data"]))  # noqa: ASYNC240 - a small file

    async def axe(self) -> list[str]:
        """What axe-core finds wrong with the page for people who see or type differently."""
        await self.run(AXE.read_text(encoding="utf-8"))
        result = await self.run("axe.run().then(one => one.violations.map(v => v.id + ': ' + "
                               "v.nodes.map(n => n.html.slice(0, 120)).join(' / ')))")  # fmt: skip
        return list(result)


@dataclass
class Browser:
    """A running Chromium."""

    wire: _Wire

    async def tab(self) -> Tab:
        """A page in a new context."""
        context = (await self.wire.call("Target.createBrowserContext"))["browserContextId"]
        made = await self.wire.call(
            "Target.createTarget", url="about:blank", browserContextId=context
        )
        result = await self.wire.call(
            "Target.attachToTarget", targetId=made["targetId"], flatten=True
        )
        tab = Tab(self.wire, result["sessionId"])
        await self.wire.call("Page.enable", tab.session)
        return tab


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Browser]:
    """A Chromium without a window, whose profile lies in `folder`."""
    path = chromium()
    assert path is not None
    process = await asyncio.create_subprocess_exec(
        path, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
        f"--user-data-dir={folder}", "--no-first-run", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        port = folder / "DevToolsActivePort"
        async with asyncio.timeout(WAIT_SECONDS):
            while not port.exists() or len(port.read_text().split()) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        number, where = port.read_text().split()[:2]
        address = f"ws://127.0.0.1:{number}{where}"
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(address, max_msg_size=2**28) as socket,
        ):
            wire = _Wire(socket)
            yield Browser(wire)
            wire.reading.cancel()
    finally:
        process.terminate()
        await process.wait()
