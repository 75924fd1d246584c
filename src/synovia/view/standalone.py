"""Export of the page as one HTML file that works without Python, read only."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from .answers import HANDLERS, decode_request
from .display import Opening
from .messages import pack
from .session import Session

MAX_OBSERVED = 3000
"""Rotations of a joint that the page requests."""
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src blob:; base-uri 'none'; form-action 'none'"
)
"""Nothing is loaded: all scripts, styles and data are in the file."""
_SCRIPT = re.compile(r'<script type="module"[^>]*src="\./([^"]+)"[^>]*></script>')
_STYLE = re.compile(r'<link rel="stylesheet"[^>]*href="\./([^"]+)"[^>]*>')
_URL = re.compile(r"""url\(["']?(?:\.\./|\./|/)*([^"')]+)["']?\)""")
_ICON = re.compile(r"\s*<link rel=\"icon\"[^>]*>")


def answers_of(session: Session) -> Iterator[tuple[str, dict[str, object], object]]:
    """Yield name, content and answer of each request that a page makes while nothing is edited."""
    for ask, request in _requests(session):
        answer = HANDLERS[ask](session, decode_request(ask, request))
        if isinstance(answer, Opening):
            state = replace(answer.state, file=None, unsaved=False, leftover=None)
            answer = replace(answer, state=state, start=None)
        yield ask, request, answer


def _requests(session: Session) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield name and content of these requests, exactly as the page sends them."""
    for ask in ("open", "body", "mesh", "check"):
        yield ask, {}
    yield "clamp", {"soften": None}
    for name in session.scene.model.limits:
        yield "region", {"joint": name}
        yield "curves", {"joint": name}
        if name in session.scene.model.dependents:
            yield "dependence", {"joint": name}
            yield "map", {"joint": name, "pose": None}
        yield "observed", {"joint": name, "most": MAX_OBSERVED}


def recording(session: Session) -> str:
    """Return the answers as JSON: gzip in base64, by the key of the request."""
    recorded = {
        request_key(ask, request): _encode(pack(answer))
        for ask, request, answer in answers_of(session)
    }
    return json.dumps(recorded)


def _encode(message: bytes) -> str:
    return base64.b64encode(gzip.compress(message, mtime=0)).decode()


def request_key(ask: str, request: Mapping[str, object]) -> str:
    """Return the key of a request: its name and its fields in alphabetical order, as JSON."""
    return json.dumps(
        [ask, dict(sorted(request.items()))], separators=(",", ":"), ensure_ascii=False
    )


def standalone_html(
    session: Session, files: Mapping[str, tuple[str, bytes]], view: str = ""
) -> str:
    """Return the page built from `files`, with all answers, as one HTML file.

    It opens with `view`: frame, joint and camera, as in a link.
    """
    text = files["index.html"][1].decode()
    text = _ICON.sub("", text)
    script, style = (found(text) for found in (_SCRIPT.search, _STYLE.search))
    if script is None or style is None:
        raise ValueError("index.html must load one script and one style: build the page again")
    code = files[script[1]][1].decode().replace("</script", "<\\/script")
    looks = _URL.sub(lambda found: _data_url(found, files), files[style[1]][1].decode())
    data = recording(session).replace("</", "<\\/")
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">\n'
        f"<style>{looks}</style>\n"
    )
    body = (
        f'<script type="application/json" id="recorded">{data}</script>\n'
        f'<script type="text/plain" id="shared">{view.replace("<", "%3C")}</script>\n'
        f'<script type="module">{code}</script>\n'
    )
    text = text.replace(script[0], "").replace(style[0], head)
    return text.replace("</body>", body + "</body>")


def _data_url(found: re.Match[str], files: Mapping[str, tuple[str, bytes]]) -> str:
    """Return a URL of a style sheet as a data URL, if it is a file of the page."""
    if found[1] not in files:
        return found[0]
    kind, content = files[found[1]]
    return f"url(data:{kind};base64,{base64.b64encode(content).decode()})"
