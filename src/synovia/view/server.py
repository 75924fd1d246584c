"""The page's server: who may talk to it, the built page over HTTP, answers over one socket."""

from __future__ import annotations

import contextlib
import gzip
import ipaddress
import os
import re
import secrets
import socket
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from . import messages
from .answers import Call, PageConnection, answer_call
from .scene import Scene
from .session import Session

# Who may talk to the page's server: those who have the link, from the page itself.

LOOPBACK = "127.0.0.1"
WILDCARDS = {"0.0.0.0": LOOPBACK, "::": "::1"}
"""Addresses that stand for all of this machine's, with the one that the link has."""
DEFAULT_PORT = 80
"""That of HTTP, which browsers leave out."""
POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self' blob:",  # textures in glTF files
    "base-uri 'none'",
    "form-action 'none'",
)
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""With every answer, and the policy below."""


def policy(framed_by: Sequence[str] = ()) -> str:
    """Return the policy: nothing is loaded from elsewhere, and only these origins frame the page.

    Nobody does, unless one is given.
    """
    frames = " ".join(framed_by or ["'none'"])
    return "; ".join((*POLICY, f"frame-ancestors {frames}"))


@dataclass(frozen=True)
class Guard:
    """The address that is listened on, its names, and the token that links must begin with."""

    address: str
    port: int
    hosts: tuple[str, ...] = ()
    """Names that lead here, besides the address itself."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def url(self) -> str:
        """The link to the page."""
        name = WILDCARDS.get(self.address, self.address)
        return f"http://{_add_brackets(name)}:{self.port}/{self.token}/"

    def path_below_token(self, path: str) -> str | None:
        """Return what a path asks for below the token, or None if the token is not the one."""
        parts = path.split("?", 1)[0].split("/", 2)
        if len(parts) != 3 or not secrets.compare_digest(parts[1].encode(), self.token.encode()):
            return None
        return parts[2]

    @property
    def names(self) -> list[str]:
        """The hosts that are answered to: addresses and names, without the port."""
        own = [WILDCARDS[self.address], "localhost"] if self.address in WILDCARDS else []
        own += [self.address, "localhost"] if self.address == LOOPBACK else []
        own = own or [self.address]
        return list(dict.fromkeys(_add_brackets(name.lower()) for name in (*own, *self.hosts)))

    def allows_host(self, host: str | None, local: str | None = None) -> bool:
        """Tell whether a Host header names this server, so that no other name leads here.

        `local` is the address of this machine that a connection came to: where all are listened
        on, that is one of its names.
        """
        if not host:
            return False
        names = self.names
        if self.address in WILDCARDS and local is not None:
            names.append(_add_brackets(local))
        return _with_port(host.lower()) in {f"{name}:{self.port}" for name in names}

    def allows_origin(self, origin: str | None, host: str | None) -> bool:
        """Tell whether an Origin header is the page's own; only then is there a socket."""
        if origin is None or host is None:
            return False
        return _with_port(origin.lower()) == _with_port(f"http://{host}".lower())


def _with_port(name: str) -> str:
    """Return a host, or an origin, with the port that it leaves out."""
    last = name.rpartition("]")[2].removeprefix("http://")
    return name if ":" in last else f"{name}:{DEFAULT_PORT}"


def _add_brackets(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def parse_address(address: str) -> str:
    """Return an IP address of this machine as it is written; ValueError for anything else."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        raise ValueError(f"the address must be an IP address, got {address!r}") from None


_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.IGNORECASE)


def parse_host(name: str) -> str:
    """Return a name, or an IP address, that links may have; ValueError for anything else."""
    if _HOST.fullmatch(name):
        return name.lower()
    try:
        return parse_address(name.strip("[]"))
    except ValueError:
        raise ValueError(f"a host must be a name or an IP address, got {name!r:.60}") from None


PAGE = Path(__file__).parent / "page"
SOCKET = "socket"
CONTENT_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".md": "text/plain",
}
"""What the page is built of. Machines have tables of their own, some of which call scripts text,
and browsers do not run text."""


DEFLATE = {"level": 6, "memLevel": 8}
"""Compression of the socket, as in gzip; much better than the library's default."""
MAX_PAGES = 32  # at a time
KEEP_SECONDS = 0.5  # between checks for unsaved edits to keep
REQUEST_SECONDS = 5.0  # in which a connection must have sent its request
MAX_UNAUTHENTICATED = 16  # connections without the token yet; for one more, the oldest is closed
BACKLOG = 128  # connections that the system keeps until they are accepted
POLL_SECONDS = 0.2  # after which the listener checks whether it was closed
PAUSE_SECONDS = 0.02  # after a connection could not be accepted


class Listener(socket.socket):
    """A listening socket that accepts again after any error, until it is closed.

    If too many connections lack the token, or no file descriptors are left, the oldest of them is
    closed, so that a page with the token always connects.
    """

    def __init__(self, family: socket.AddressFamily, address: str, port: int) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        self._unauthenticated: dict[socket.socket, None] = {}
        self._lock = threading.Lock()
        try:
            if os.name == "posix":  # elsewhere it would share a port with others
                self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                self.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            self.bind((address, port))
            self.listen(BACKLOG)
        except BaseException:
            self.close()
            raise
        self.settimeout(POLL_SECONDS)

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection and its address; OSError only after `close`."""
        while True:
            try:
                connection, address = super().accept()
            except TimeoutError:
                continue
            except OSError:
                if self.fileno() < 0:
                    raise
                self._close_oldest(keep=0)
                time.sleep(PAUSE_SECONDS)
                continue
            with self._lock:
                self._unauthenticated[connection] = None
            self._close_oldest(keep=MAX_UNAUTHENTICATED)
            return connection, address

    def authenticate(self, connection: socket.socket) -> None:
        """Note that a connection has sent the token: it is not closed for others any more."""
        with self._lock:
            self._unauthenticated.pop(connection, None)

    def _close_oldest(self, keep: int) -> None:
        """End the oldest connection without the token if there are more than `keep`.

        Its own thread closes it then.
        """
        with self._lock:
            waiting = [other for other in self._unauthenticated if other.fileno() >= 0]
            ended = waiting[: len(waiting) > keep]
            self._unauthenticated = dict.fromkeys(waiting[len(ended) :])
        for oldest in ended:
            with contextlib.suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)


class PageSocket(ServerConnection):
    """A connection whose threads end when it is closed before its first request."""

    def close_socket(self) -> None:
        """Close the socket, and wake the thread that may still wait for the request."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        super().close_socket()


class PageServer:
    """Serves a scene to some pages, from a thread of its own, until it is closed."""

    def __init__(
        self,
        scene: Scene,
        *,
        port: int = 0,
        allow_remote: str | None = None,
        hosts: Sequence[str] = (),
        save_to: Path | None = None,
    ) -> None:
        self.session = Session(scene, save_to)
        self.session.notify = self.notify_pages
        self._files = page_files()
        self._connections: set[ServerConnection] = set()
        self._framed_by: tuple[str, ...] = ()
        address = LOOPBACK if allow_remote is None else parse_address(allow_remote)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        names = tuple(map(parse_host, hosts))
        self._listener = Listener(family, address, port)
        self._server: Server = serve(
            self._serve_socket,
            sock=self._listener,
            process_request=self._handle_http,
            open_timeout=REQUEST_SECONDS,
            max_size=messages.MAX_REQUEST_BYTES,
            compression=None,
            extensions=[ServerPerMessageDeflateFactory(compress_settings=DEFLATE)],
            server_header=None,
            create_connection=PageSocket,
        )
        self.guard = Guard(address, self._listener.getsockname()[1], names)
        self._closing = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._keeper = threading.Thread(target=self._keep_edits, daemon=True)
        self._thread.start()
        self._keeper.start()

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

    def allow_framing(self, origins: Sequence[str]) -> None:
        """Let pages of these origins show this one in a frame, from now on."""
        self._framed_by = tuple(origins)

    def close(self) -> None:
        """Stop listening and hang up; a second time does nothing. Unsaved edits are kept."""
        self._closing.set()
        if self.session.fitting is not None:
            self.session.fitting.stop()
        self._server.shutdown()
        for connection in tuple(self._connections):
            connection.close()
        self._thread.join()
        self._keeper.join()

    def wait(self) -> None:
        """Return when the server has been closed; OSError where it ended by itself."""
        while self._thread.is_alive():
            self._thread.join(0.2)  # in pieces, so that Ctrl-C comes through
        if not self._closing.is_set():
            raise OSError(f"the page's server ended: {self._failure or 'nobody listens'}")

    def _listen(self) -> None:
        try:
            self._server.serve_forever()
        except BaseException as error:
            self._failure = error

    def _keep_edits(self) -> None:
        """Keep unsaved edits beside the limits, soon after each of them and at the end."""
        kept = told = None
        while True:
            closing = self._closing.wait(KEEP_SECONDS)
            changes = self.session.changes
            if changes != kept:
                try:
                    self.session.keep_unsaved()
                    kept = changes
                except (OSError, ValueError) as error:
                    if str(error) != told:  # once: it is tried again
                        told = str(error)
                        print(f"unsaved edits are not kept: {error}", file=sys.stderr)
            if closing:
                return

    def _handle_http(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return a page's file or a refusal; None lets a socket open."""
        hosts, origins = (request.headers.get_all(name) for name in ("Host", "Origin"))
        if len(hosts) > 1 or len(origins) > 1:
            return self._response(HTTPStatus.BAD_REQUEST, "Host and Origin are given once\n")
        host, origin = next(iter(hosts), None), next(iter(origins), None)
        if not self.guard.allows_host(host, connection.local_address[0]):
            return self._response(HTTPStatus.MISDIRECTED_REQUEST, "this server has another name\n")
        wanted = self.guard.path_below_token(request.path)
        if wanted is None:
            reason = "the link lacks its token: use the whole link\n"
            return self._response(HTTPStatus.FORBIDDEN, reason)
        self._listener.authenticate(connection.socket)
        if wanted == SOCKET:
            if not self.guard.allows_origin(origin, host):
                return self._response(HTTPStatus.FORBIDDEN, "only the page may open the socket\n")
            if len(self._connections) >= MAX_PAGES:
                return self._response(HTTPStatus.SERVICE_UNAVAILABLE, "too many pages are open\n")
            return None
        if wanted not in self._files:
            return self._response(HTTPStatus.NOT_FOUND, "there is no such file\n")
        kind, content = self._files[wanted]
        accepted = ",".join(request.headers.get_all("Accept-Encoding"))
        encoded = [word.partition(";")[0].strip() for word in accepted.split(",")]
        if "br" in encoded and f"{wanted}.br" in self._files:
            return self._response(HTTPStatus.OK, self._files[f"{wanted}.br"][1], kind, "br")
        if "gzip" in encoded:
            return self._response(HTTPStatus.OK, _gzip(content), kind, "gzip")
        return self._response(HTTPStatus.OK, content, kind)

    def _response(
        self,
        status: HTTPStatus,
        content: str | bytes,
        kind: str = "text/plain",
        encoding: str | None = None,
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
        if encoding is not None:
            headers["Content-Encoding"] = encoding
        return Response(status.value, status.phrase, headers, body)

    def _serve_socket(self, connection: ServerConnection) -> None:
        """Answer one page's requests until it is gone."""
        self._connections.add(connection)
        try:
            page = PageConnection(connection, self.session, self._reply)
            page.run(lambda: self.notify_pages(connection))
        finally:
            self._connections.discard(connection)

    def notify_pages(self, editor: ServerConnection | None = None) -> None:
        """Let pages know that limits have changed, but not the one that did it: they ask anew."""
        news = messages.pack(messages.Empty(), state=self.session.state())
        for other in self._connections - {editor}:
            with contextlib.suppress(ConnectionClosed):
                other.send(news)

    def _reply(self, call: Call) -> bytes:
        try:
            return answer_call(self.session, call)
        except Exception as error:  # one request must not end the page
            traceback.print_exc(file=sys.stderr)
            reason = f"{type(error).__name__}: {error} (a fault in synovia)"
            return messages.pack(messages.Empty(), id=call.id, error=reason)


@lru_cache(maxsize=16)
def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


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
            kind = CONTENT_TYPES.get(path.suffix, "application/octet-stream")
            files[path.relative_to(PAGE).as_posix()] = (kind, path.read_bytes())
    files[""] = files["index.html"]
    return files
