"""Who may talk to the page's server: those who have the link, from the page itself."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

LOCAL = "127.0.0.1"
ANYWHERE = {"0.0.0.0": LOCAL, "::": "::1"}
"""Addresses that stand for all of this machine's, with the one that the link has."""
DEFAULT_PORT = 80
"""That of HTTP, which browsers leave out."""
POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
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
    """The address that is listened on, and the token that links must begin with."""

    address: str
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def url(self) -> str:
        """The link to the page."""
        name = ANYWHERE.get(self.address, self.address)
        return f"http://{_bracketed(name)}:{self.port}/{self.token}/"

    def below(self, path: str) -> str | None:
        """Return what a path asks for below the token, or None if the token is not the one."""
        parts = path.split("?", 1)[0].split("/", 2)
        if len(parts) != 3 or not secrets.compare_digest(parts[1].encode(), self.token.encode()):
            return None
        return parts[2]

    def knows_host(self, host: str | None) -> bool:
        """Tell whether a Host header names this server, so that no other name leads here."""
        if not host:
            return False
        named = _with_port(host.lower())
        if self.address in ANYWHERE:  # all names of this machine
            return named.endswith(f":{self.port}")
        names = {self.address, "localhost"} if self.address == LOCAL else {self.address}
        return named in {f"{_bracketed(name)}:{self.port}" for name in names}

    def knows_origin(self, origin: str | None, host: str | None) -> bool:
        """Tell whether an Origin header is the page's own; only then is there a socket."""
        if origin is None or host is None:
            return False
        return _with_port(origin.lower()) == _with_port(f"http://{host}".lower())


def _with_port(name: str) -> str:
    """Return a host, or an origin, with the port that it leaves out."""
    last = name.rpartition("]")[2].removeprefix("http://")
    return name if ":" in last else f"{name}:{DEFAULT_PORT}"


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def checked_address(address: str) -> str:
    """Return an IP address of this machine as it is written; ValueError for anything else."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        raise ValueError(f"the address must be an IP address, got {address!r}") from None
