"""What the page may ask for, and the answers; everything is computed here, nothing in the page."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from . import (
    bodies,
    comparing,
    contents,
    dependents,
    drags,
    editing,
    families,
    files,
    fitting,
    folder,
    messages,
    poses,
    reasons,
    samples,
)
from .messages import Answer, Request
from .protocol import Failure
from .session import Session

HANDLERS: dict[str, Callable[[Session, Request], Answer]] = {
    "open": contents.open_scene,
    "body": bodies.body_shape,
    "check": contents.check_clip,
    "clamp": contents.clamp_clip,
    "curve": contents.curve,
    "region": contents.region_pictures,
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
    "observed": samples.observed_rotations,
    "recall": samples.observed_pose,
    "compare": comparing.compare_limits,
    "refit": families.refit,
    "judge": families.judge_family,
    "save": editing.save,
    "recover": editing.recover,
    "download": editing.download,
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
    "progress": fitting.tell_progress,
    "stop": fitting.cancel_fit,
}
"""What may be asked for, by name."""
SLOW_REQUESTS = (
    "body",
    "region",
    "dependence",
    "here",
    "map",
    "check",
    "clamp",
    "curve",
    "compare",
    "export",
)
"""What is to stay, takes a while, and depends on nothing that is asked for before it."""
TEXT_FIELDS = ("joint", "edit", "stroke", "as")
"""What is text or null, whatever is asked for."""


def may_wait(text: str | bytes) -> bool:
    """Tell whether a request is for something that others may overtake."""
    try:
        request = messages.parse_request(text)
        return request["ask"] in SLOW_REQUESTS and not request.get("draft")
    except ValueError:
        return False


def answer(session: Session, text: str | bytes) -> bytes:
    """Return the message that answers a request, or says why there is no answer."""
    number: int | None = None
    try:
        request = messages.parse_request(text)
        number = request["id"]
        if request["ask"] not in HANDLERS:
            raise ValueError(
                f"ask must be one of {', '.join(HANDLERS)}, got {request['ask']!r:.60}"
            )
        for name in TEXT_FIELDS:
            if not isinstance(request.get(name), str | None):
                raise ValueError(f"{name} must be text or null, got {request[name]!r:.60}")
        reply = HANDLERS[request["ask"]](session, request)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        reply = Failure(error=_sentence(error))
    return messages.pack({"id": number, **reply})


def _sentence(error: Exception) -> str:
    return f"the request lacks {error}" if isinstance(error, KeyError) else str(error)


# Talk with one page: edits are answered at once, fine pictures as soon as they are ready.


Text = str | bytes


class PageConnection:
    """The requests of one page, and the answers.

    What may wait is made in a thread of its own, so that the next drag does not wait for it. It is
    always of the limits as they are when it is sent: where they changed meanwhile, it is made anew.
    """

    def __init__(
        self, connection: ServerConnection, session: Session, reply: Callable[[Text], bytes]
    ) -> None:
        self._connection = connection
        self._session = session
        self._reply = reply
        self._sending = threading.Lock()
        self._waiting: SimpleQueue[Text | None] = SimpleQueue()

    def run(self, changed: Callable[[], None]) -> None:
        """Answer the page until it is gone; tell when it has changed something."""
        threading.Thread(target=self._answer_later, daemon=True).start()
        try:
            with contextlib.suppress(ConnectionClosed):
                for text in self._connection:
                    if may_wait(text):
                        self._waiting.put(text)
                    else:
                        self._answer(text, changed)
        finally:
            self._waiting.put(None)

    def _answer(self, text: Text, changed: Callable[[], None]) -> None:
        before = self._session.changes
        with self._sending:
            self._connection.send(self._reply(text))
        if self._session.changes != before:
            changed()

    def _answer_later(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while (text := self._waiting.get()) is not None:
                while not self._send_if_current(text):
                    self._session.wait_until_idle()

    def _send_if_current(self, text: Text) -> bool:
        """Answer, unless the limits change while the answer is made; tell whether it was sent.

        Nothing is sent while an edit is made and answered, nor is there an edit of the page between
        the look at the scene and this answer: so it never hears of older limits after newer ones.
        """
        scene = self._session.scene
        message = self._reply(text)
        with self._sending:
            if self._session.scene is not scene:
                return False
            self._connection.send(message)
            return True
