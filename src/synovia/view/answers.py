"""Handlers of the page's requests, and the connection that they come through."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from queue import SimpleQueue
from typing import Any, get_type_hints

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from ..schema import decode
from ..shapes.reach_cone.star import StarError
from . import (
    angles,
    comparing,
    dependents,
    display,
    drags,
    editing,
    families,
    files,
    fitting,
    folder,
    human,
    messages,
    poses,
    reasons,
    repairing,
)
from .limit_edits import broken_edge
from .messages import Empty
from .session import Session

HANDLERS: dict[str, Callable[[Session, Any], object]] = {
    "open": display.open_scene,
    "body": human.body_shape,
    "mesh": human.own_mesh,
    "check": display.check_clip,
    "clamp": display.clamp_clip,
    "angles": angles.joint_angles,
    "angle": angles.set_joint_angle,
    "curves": angles.angle_curves,
    "ranges": angles.clip_ranges,
    "repair": repairing.repair_clip,
    "region": display.region_pictures,
    "dependence": dependents.describe_dependence,
    "ends": dependents.numbers_in_pose,
    "here": dependents.region_in_pose,
    "map": dependents.range_map,
    "reach": drags.reach,
    "look": drags.look,
    "pull": drags.pull_figure,
    "turn": drags.rotate_joint,
    "mirror": poses.mirror_pose,
    "why": reasons.explain,
    "fitted": poses.fit_figure,
    "pose": poses.pose_figure,
    "outside": poses.check_pose,
    "edit": editing.edit_limits,
    "undo": editing.undo,
    "redo": editing.redo,
    "family": families.describe_families,
    "observed": reasons.observed_rotations,
    "recall": reasons.observed_pose,
    "compare": comparing.compare_limits,
    "save": editing.save,
    "recover": editing.recover,
    "send": files.receive_piece,
    "load": files.load_upload,
    "roles": files.describe_roles,
    "human": files.use_human_limits,
    "export": files.export,
    "clips": folder.list_clips,
    "choose": folder.choose_clip,
    "keep": files.keep_upload,
    "other": comparing.use_other,
    "kinds": fitting.list_kinds,
    "fit": fitting.start_fit,
    "progress": fitting.report_progress,
    "stop": fitting.cancel_fit,
}
"""The handler of each request. Its annotations are the types of request and answer."""
SLOW_REQUESTS = (
    "angles",
    "body",
    "mesh",
    "region",
    "dependence",
    "here",
    "map",
    "check",
    "clamp",
    "curves",
    "ranges",
    "repair",
    "compare",
    "export",
)
"""Requests answered in a thread of their own, because others need not wait for them."""


@dataclass(frozen=True)
class Call:
    """A request as it was received: its number and name, and its content or what is wrong."""

    id: int | None
    ask: str
    request: Any
    error: str | None = None

    @property
    def may_wait(self) -> bool:
        """True if other requests may be answered before this one."""
        return self.ask in SLOW_REQUESTS and not getattr(self.request, "draft", False)


def parse_call(text: str | bytes) -> Call:
    """Return the decoded request in a message of the page."""
    number, ask = None, ""
    try:
        request = messages.parse_request(text)
        number, ask = request["id"], request["ask"]
        if ask not in HANDLERS:
            raise ValueError(f"ask must be one of {', '.join(HANDLERS)}, got {ask!r:.60}")
        return Call(number, ask, decode_request(ask, request))
    except ValueError as error:
        return Call(number, ask, None, str(error))


def decode_request(ask: str, request: dict[str, Any]) -> Any:
    """Return the request of a name as the class that its handler takes."""
    return decode(_request_type(ask), request)


@cache
def _request_type(ask: str) -> type[Any]:
    kind: type[Any] = get_type_hints(HANDLERS[ask])["request"]
    return kind


def answer(session: Session, text: str | bytes) -> bytes:
    """Return the message that answers a request, or the reason why there is no answer."""
    return answer_call(session, parse_call(text))


def answer_call(session: Session, call: Call) -> bytes:
    """Return the message that answers a decoded request, with the state if it has changed."""
    changes = session.changes
    try:
        if call.error is not None:
            raise ValueError(call.error)
        reply = HANDLERS[call.ask](session, call.request)
    except (OSError, ValueError) as error:
        return messages.pack(Empty(), id=call.id, **describe_error(error))
    state = session.state() if session.changes != changes else None
    return messages.pack(reply, id=call.id, state=state)


def describe_error(error: OSError | ValueError) -> dict[str, Any]:
    """Return the fields of `Header` that say why a request was refused."""
    if isinstance(error, StarError):
        return {"error": f"no longer a star: {error.broken.why}", "edge": broken_edge(error)}
    if isinstance(error, OSError) and error.filename is not None:
        return {"error": f"{error.filename}: {error.strerror}"}
    return {"error": str(error)}


class PageConnection:
    """The requests of one page, and the answers.

    Slow requests are answered in a thread of their own. If the limits change meanwhile, the answer
    is computed again, so that it is always of the present limits.
    """

    def __init__(
        self, connection: ServerConnection, session: Session, reply: Callable[[Call], bytes]
    ) -> None:
        self._connection = connection
        self._session = session
        self._reply = reply
        self._sending = threading.Lock()
        self._waiting: SimpleQueue[Call | None] = SimpleQueue()

    def run(self, changed: Callable[[], None]) -> None:
        """Answer the page until it disconnects; call `changed` after each change of the limits."""
        threading.Thread(target=self._answer_later, daemon=True).start()
        try:
            with contextlib.suppress(ConnectionClosed):
                for text in self._connection:
                    call = parse_call(text)
                    if call.may_wait:
                        self._waiting.put(call)
                    else:
                        self._answer(call, changed)
        finally:
            self._waiting.put(None)

    def _answer(self, call: Call, changed: Callable[[], None]) -> None:
        before = self._session.changes
        with self._sending:
            self._connection.send(self._reply(call))
        if self._session.changes != before:
            changed()

    def _answer_later(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while (call := self._waiting.get()) is not None:
                while not self._send_if_current(call):
                    self._session.wait_until_idle()

    def _send_if_current(self, call: Call) -> bool:
        """Answer unless the limits change meanwhile; return True if the answer was sent.

        The lock is held while an edit is made and answered, so that no answer about older limits
        follows one about newer limits.
        """
        scene = self._session.scene
        message = self._reply(call)
        with self._sending:
            if self._session.scene is not scene:
                return False
            self._connection.send(message)
            return True
