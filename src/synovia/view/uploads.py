"""Files that pages upload in parts."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

MAX_BYTES = 256 << 20
"""Largest size of an upload: a clip of an hour is smaller."""
MAX_UPLOADS = 4
"""Uploads in progress; for one more, the oldest is dropped."""


@dataclass
class Upload:
    """A file that is being uploaded: its name, its size in bytes, and the bytes received."""

    name: str
    size: int
    content: bytearray = field(default_factory=bytearray)


class Uploads:
    """Uploads in progress, by their ids, which pages choose."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, Upload] = {}

    def receive(self, key: str, name: str, size: int, part: bytes) -> int:
        """Append a part to an upload and return the number of bytes received."""
        if not 0 < size <= MAX_BYTES:
            raise ValueError(f"{name}: a file must have 1 to {MAX_BYTES >> 20} MiB, got {size} B")
        with self._lock:
            if key not in self._files:
                while len(self._files) >= MAX_UPLOADS:
                    del self._files[next(iter(self._files))]
                self._files[key] = Upload(name, size)
            upload = self._files[key]
            if (upload.name, upload.size) != (name, size):
                raise ValueError(f"{name}: the upload id belongs to another file")
            if len(upload.content) + len(part) > size:
                del self._files[key]
                raise ValueError(f"{name}: expected {size} bytes, got more")
            upload.content += part
            return len(upload.content)

    def take(self, key: str) -> Upload:
        """Return a complete upload and remove it."""
        with self._lock:
            upload = self._files.pop(key, None)
        if upload is None or len(upload.content) != upload.size:
            raise ValueError("the upload is not complete: send the file again")
        return upload
