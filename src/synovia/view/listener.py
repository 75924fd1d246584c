"""The listening socket of the page's server, which survives errors and idle connections."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
import time
from typing import Any

from websockets.sync.server import ServerConnection

MAX_UNAUTHENTICATED = 16
"""Connections that have not sent the token yet; for one more, the oldest is closed."""
REQUEST_SECONDS = 5.0
"""Seconds in which a connection must have sent its request."""
BACKLOG = 128
"""Connections that the system keeps until they are accepted."""
_POLL_SECONDS = 0.2
"""Seconds after which the listener checks whether it was closed."""
_PAUSE_SECONDS = 0.005
_MAX_PAUSES = 200  # 1 s until a connection has been closed by its thread
_CLOSED = {errno.EBADF, errno.EINVAL, errno.ENOTSOCK}
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Listener(socket.socket):
    """A listening socket that accepts again after any error, until it is closed.

    If there are too many connections without the token, or no file descriptors are left, the
    oldest of them is closed, so that a page with the token always connects.
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
        self.settimeout(_POLL_SECONDS)

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection and its address; OSError only after `close`."""
        while True:
            try:
                connection, address = super().accept()
            except OSError as error:
                if self.fileno() < 0 or error.errno in _CLOSED:
                    raise
                if error.errno in _EXHAUSTED:
                    time.sleep(_PAUSE_SECONDS)
                    self._close_oldest()
                continue
            with self._lock:
                still_open = (each for each in self._unauthenticated if each.fileno() >= 0)
                self._unauthenticated = dict.fromkeys((*still_open, connection))
                is_full = len(self._unauthenticated) > MAX_UNAUTHENTICATED
            if is_full:
                self._close_oldest()
            return connection, address

    def authenticate(self, connection: socket.socket) -> None:
        """Note that a connection has sent the token: it is not closed for others any more."""
        with self._lock:
            self._unauthenticated.pop(connection, None)

    def _close_oldest(self) -> None:
        """Let the thread of the oldest connection without the token close it, and wait for that."""
        with self._lock:
            oldest = next(iter(self._unauthenticated), None)
            if oldest is None:
                return
            del self._unauthenticated[oldest]
        with contextlib.suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)
        for _ in range(_MAX_PAUSES):
            if oldest.fileno() < 0:
                return
            time.sleep(_PAUSE_SECONDS)


class PageSocket(ServerConnection):
    """A connection whose threads end when it is closed before its first request."""

    def close_socket(self) -> None:
        """Close the socket, and wake the thread that may still wait for the request."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        super().close_socket()
