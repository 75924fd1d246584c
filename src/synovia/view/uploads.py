"""Files that pages send, piece by piece, until they are whole."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

MOST_BYTES = 256 << 20
"""Bytes of a file that the page may send."""
MOST_UPLOADS = 4
"""Files that may be under way at a time; the oldest is forgotten for one more."""


@dataclass
class Upload:
    """A file that the page sends: its name, its size, and what has come."""

    name: str
    size: int
    content: bytearray = field(default_factory=bytearray)


class Uploads:
    """Files on their way, by the words that pages have for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, Upload] = {}

    def receive(self, key: str, name: str, size: int, piece: bytes) -> int:
        """Return how many bytes of a file have come, after this piece."""
        if not 0 < size <= MOST_BYTES:
            raise ValueError(f"{name}: a file must have 1 to {MOST_BYTES >> 20} MiB, got {size} B")
        with self._lock:
            if key not in self._files:
                while len(self._files) >= MOST_UPLOADS:
                    del self._files[next(iter(self._files))]
                self._files[key] = Upload(name, size)
            upload = self._files[key]
            if (upload.name, upload.size) != (name, size):
                raise ValueError(f"{name}: this word is another file's")
            if len(upload.content) + len(piece) > size:
                del self._files[key]
                raise ValueError(f"{name}: more than the {size} bytes came that were said")
            upload.content += piece
            return len(upload.content)

    def take(self, key: str) -> Upload:
        """Return a file that is whole, and forget it."""
        with self._lock:
            upload = self._files.pop(key, None)
        if upload is None or len(upload.content) != upload.size:
            raise ValueError("not all of the file has come: send it again")
        return upload
