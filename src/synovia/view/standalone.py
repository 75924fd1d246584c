"""Export of the page as one HTML file that works without Python, read only."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Iterator, Mapping

from ..mesh import DRAFT
from .bodies import body_shape
from .contents import check_clip, clamp_clip, curve, open_scene, pictures
from .dependents import describe_dependence, range_map
from .messages import Answer, Request, pack
from .protocol import Picture
from .samples import observed_rotations
from .session import Session

MAX_OBSERVED = 3000
"""Rotations of a joint that the page requests."""
MAX_NUMBERS = 30_000
"""Coordinates of a fine picture; larger ones are exported as drafts to keep the file small."""
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""Nothing is loaded: all scripts, styles and data are in the file."""
_SCRIPT = re.compile(r'<script type="module"[^>]*src="\./([^"]+)"[^>]*></script>')
_STYLE = re.compile(r'<link rel="stylesheet"[^>]*href="\./([^"]+)"[^>]*>')
_URL = re.compile(r"""url\(["']?(?:\.\./|\./|/)*([^"')]+)["']?\)""")
_ICON = re.compile(r"\s*<link rel=\"icon\"[^>]*>")


def answers_of(session: Session) -> Iterator[tuple[str, Request, Answer]]:
    """Yield the requests that a read-only page makes: name, request and answer."""
    plain: Request = {"soften": None}
    opening = open_scene(session, {})
    alone = {"file": None, "unsaved": False, "leftover": None, "start": None}
    yield "open", {}, {**opening, **alone}
    yield "body", {}, body_shape(session, {})
    yield "check", {}, check_clip(session, {})
    yield "clamp", plain, clamp_clip(session, plain)
    for name in session.scene.model.limits:
        joint: Request = {"joint": name}
        yield "region", joint, _picture(session, name)
        yield "curve", {**joint, **plain}, curve(session, {**joint, **plain})
        if name in session.scene.model.dependents:
            yield "dependence", joint, describe_dependence(session, joint)
            yield "map", {**joint, "pose": None}, range_map(session, {**joint, "pose": None})
        most = {**joint, "most": MAX_OBSERVED}
        yield "observed", most, observed_rotations(session, most)


def _picture(session: Session, name: str) -> Picture:
    """Return the fine picture of a limit, or a draft if the fine one is too large."""
    fine = pictures(session.scene, name)
    large = fine["vectors"].size + fine["directions"].size > MAX_NUMBERS
    return pictures(session.scene, name, DRAFT) if large else fine


def recording(session: Session) -> str:
    """Return the answers as JSON: gzip in base64, by the key of the request."""
    recorded = {
        request_key(ask, request): _encode(pack({"id": None, **answer}))
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


def standalone_html(session: Session, files: Mapping[str, tuple[str, bytes]]) -> str:
    """Return the page built from `files`, with all answers, as one HTML file."""
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
