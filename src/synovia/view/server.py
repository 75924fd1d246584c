"""The page's server: the built page over HTTP, and answers over one socket."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import traceback
from collections.abc import Sequence
from functools import cache
from http import HTTPStatus
from pathlib import Path

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from . import messages
from .answers import answer
from .guard import HEADERS, LOCAL, Guard, checked_address, policy
from .protocol import Failure, News
from .scene import Scene
from .session import Session
from .talk import Talk

PAGE = Path(__file__).parent / "page"
SOCKET = "socket"
KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
"""What the page is built of. Machines have tables of their own, some of which call scripts text,
and browsers do not run text."""


class PageServer:
    """Serves a scene to any number of pages, from a thread of its own, until it is closed."""

    def __init__(
        self,
        scene: Scene,
        *,
        port: int = 0,
        allow_remote: str | None = None,
        save_to: Path | None = None,
    ) -> None:
        self.session = Session(scene, save_to)
        self._files = page_files()
        self._connections: set[ServerConnection] = set()
        self._framed_by: tuple[str, ...] = ()
        address = LOCAL if allow_remote is None else checked_address(allow_remote)
        self._server: Server = serve(
            self._talk,
            address,
            port,
            family=socket.AF_INET6 if ":" in address else socket.AF_INET,
            process_request=self._admit,
            max_size=messages.LONGEST,
            compression=None,
            server_header=None,
        )
        self.guard = Guard(address, self._server.socket.getsockname()[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def scene(self) -> Scene:
        """The scene with its present limits."""
        return self.session.scene

    @property
    def url(self) -> str:
        """The link to the page, with its token."""
        return self.guard.url

    @property
    def closed(self) -> bool:
        """Whether it no longer serves."""
        return not self._thread.is_alive()

    def let_frame(self, origins: Sequence[str]) -> None:
        """Let pages of these origins show this one in a frame, from now on."""
        self._framed_by = tuple(origins)

    def close(self) -> None:
        """Stop listening and hang up; a second time does nothing."""
        self._server.shutdown()
        for connection in tuple(self._connections):
            connection.close()
        self._thread.join()

    def wait(self) -> None:
        """Return when the server has been closed."""
        while self._thread.is_alive():
            self._thread.join(0.2)  # in pieces, so that Ctrl-C comes through

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return a page's file or a refusal; None lets a socket open."""
        host, origin = request.headers.get("Host"), request.headers.get("Origin")
        if not self.guard.knows_host(host):
            return self._response(HTTPStatus.MISDIRECTED_REQUEST, "this server has another name\n")
        wanted = self.guard.below(request.path)
        if wanted is None:
            return self._response(HTTPStatus.FORBIDDEN, "the link lacks its token: use all of it\n")
        if wanted == SOCKET:
            if self.guard.knows_origin(origin, host):
                return None
            return self._response(HTTPStatus.FORBIDDEN, "only the page may open the socket\n")
        if wanted not in self._files:
            return self._response(HTTPStatus.NOT_FOUND, "there is no such file\n")
        kind, content = self._files[wanted]
        return self._response(HTTPStatus.OK, content, kind)

    def _response(
        self, status: HTTPStatus, content: str | bytes, kind: str = "text/plain"
    ) -> Response:
        body = content.encode() if isinstance(content, str) else content
        text = kind.startswith("text/") or kind.endswith("javascript")
        headers = Headers(
            {
                **HEADERS,
                "Content-Security-Policy": policy(self._framed_by),
                "Content-Type": f"{kind}; charset=utf-8" if text else kind,
                "Content-Length": str(len(body)),
                "Connection": "close",
            }
        )
        return Response(status.value, status.phrase, headers, body)

    def _talk(self, connection: ServerConnection) -> None:
        """Answer one page's requests until it is gone."""
        self._connections.add(connection)
        try:
            talk = Talk(connection, self.session, self._answered)
            talk.go_on(lambda: self.tell_pages(connection))
        finally:
            self._connections.discard(connection)

    def tell_pages(self, editor: ServerConnection | None = None) -> None:
        """Let pages know that limits have changed, but not the one that did it: they ask anew."""
        news = messages.packed({"id": None, **News(news=True, **self.session.state())})
        for other in self._connections - {editor}:
            with contextlib.suppress(ConnectionClosed):
                other.send(news)

    def _answered(self, text: str | bytes) -> bytes:
        try:
            return answer(self.session, text)
        except Exception as error:  # one request must not end the page
            traceback.print_exc(file=sys.stderr)
            said = f"{type(error).__name__}: {error} (a fault in synovia)"
            return messages.packed({"id": messages.request(text)["id"], **Failure(error=said)})


@cache
def page_files() -> dict[str, tuple[str, bytes]]:
    """Return the type and the content of each file of the built page, by its path below it.

    Nothing else is ever sent, so no path leads out of the page.
    """
    if not (PAGE / "index.html").is_file():
        raise FileNotFoundError(
            f"{PAGE}: the page is not built; in a clone, `make page` builds it (it needs Node.js)"
        )
    files = {}
    for path in sorted(PAGE.rglob("*")):
        if path.is_file():
            kind = KINDS.get(path.suffix, "application/octet-stream")
            files[path.relative_to(PAGE).as_posix()] = (kind, path.read_bytes())
    files[""] = files["index.html"]
    return files
