"""The page's door: connections are accepted whatever strangers do, and none of them stays long."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
import time
from typing import Any

from websockets.sync.server import ServerConnection

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MOST_STRANGERS = 64
"""Connections that have not shown the token yet; one more, and the oldest is hung up on."""
DESCRIPTORS_A_LINE = 4
"""Descriptors that a connection takes: its socket, and what wakes its threads."""
SECONDS_TO_ASK = 5.0
"""Seconds in which a connection must have sent its request."""
BACKLOG = 128
"""Connections that the system keeps while others are accepted."""
_POLL_SECONDS = 0.2
"""Seconds after which a listener looks whether it was closed."""
_PAUSE_SECONDS = 0.005
_MOST_PAUSES = 200
_CLOSED = {errno.EBADF, errno.EINVAL, errno.ENOTSOCK}
_SHORT = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


def most_strangers() -> int:
    """Return how many strangers there may be: they get half of the process's descriptors."""
    if resource is None:
        return MOST_STRANGERS
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MOST_STRANGERS
    return min(MOST_STRANGERS, max(allowed // (2 * DESCRIPTORS_A_LINE), 1))


class Listener(socket.socket):
    """A listening socket that goes on whatever happens while it accepts, until it is closed.

    Where there are too many strangers, or no descriptors are left, the oldest stranger makes room:
    who has the token always comes in.
    """

    def __init__(self, family: socket.AddressFamily, address: str, port: int) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        self._strangers: dict[socket.socket, None] = {}
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
        self.settimeout(_POLL_SECONDS)

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection, a stranger; OSError only once this is closed."""
        while True:
            try:
                line, address = super().accept()
            except OSError as error:
                if self.fileno() < 0 or error.errno in _CLOSED:
                    raise
                if error.errno in _SHORT:
                    time.sleep(_PAUSE_SECONDS)
                    self._hang_up_on_oldest()
                continue
            with self._lock:
                self._strangers = {each: None for each in self._strangers if each.fileno() >= 0}
                self._strangers[line] = None
                crowded = len(self._strangers) > most_strangers()
            if crowded:
                self._hang_up_on_oldest()
            return line, address

    def let_in(self, line: socket.socket) -> None:
        """Note that a connection has shown the token: nobody takes its place any more."""
        with self._lock:
            self._strangers.pop(line, None)

    def _hang_up_on_oldest(self) -> None:
        """Make the oldest stranger's own thread close it, and wait until it has."""
        with self._lock:
            oldest = next(iter(self._strangers), None)
            if oldest is None:
                return
            del self._strangers[oldest]
        with contextlib.suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)
        for _ in range(_MOST_PAUSES):
            if oldest.fileno() < 0:
                return
            time.sleep(_PAUSE_SECONDS)


GET = b"GET "
NOT_GET = (
    b"HTTP/1.1 405 Method Not Allowed\r\n"
    b"Allow: GET\r\n"
    b"Content-Length: 0\r\n"
    b"Connection: close\r\n"
    b"\r\n"
)


class Line(ServerConnection):
    """A connection on which only GET is asked for; any other method gets 405, body or not."""

    def recv_events(self) -> None:
        """Read what comes, if it begins as it must."""
        with contextlib.suppress(OSError):
            start = self.socket.recv(len(GET), socket.MSG_PEEK)
            if not GET.startswith(start):
                self._refuse()
        super().recv_events()

    def close_socket(self) -> None:
        """Close the socket, and wake the thread that may still wait for its first word."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        super().close_socket()

    def _refuse(self) -> None:
        self.socket.sendall(NOT_GET)
        self.socket.shutdown(socket.SHUT_WR)
        self.socket.settimeout(SECONDS_TO_ASK)
        try:
            while self.socket.recv(1 << 16):  # a body that is not read would undo the answer
                pass
        finally:
            self.socket.shutdown(socket.SHUT_RDWR)
            self.socket.settimeout(None)
