"""What the page may ask for, and the answers; everything is computed here, nothing in the page."""

from __future__ import annotations

from collections.abc import Callable

from . import messages
from .editing import EDITED
from .families import CHOSEN
from .judging import JUDGED
from .messages import Answer, Request
from .protocol import Failure
from .saving import SAVED
from .session import Session
from .showing import SHOWN
from .trying import TRIED

ASKED: dict[str, Callable[[Session, Request], Answer]] = {
    **SHOWN,
    **TRIED,
    **EDITED,
    **CHOSEN,
    **JUDGED,
    **SAVED,
}
"""What may be asked for, by name."""
PATIENT = ("region", "check", "clamp", "curve")
"""What is to stay, takes a while, and depends on nothing that is asked for before it."""
TEXTS = ("joint", "edit", "stroke", "as")
"""What is text or null, whatever is asked for."""


def may_wait(text: str | bytes) -> bool:
    """Tell whether a request is for something that others may overtake."""
    try:
        return messages.request(text)["ask"] in PATIENT
    except ValueError:
        return False


def answer(session: Session, text: str | bytes) -> bytes:
    """Return the message that answers a request, or says why there is no answer."""
    number: int | None = None
    try:
        asked = messages.request(text)
        number = asked["id"]
        if asked["ask"] not in ASKED:
            raise ValueError(f"ask must be one of {', '.join(ASKED)}, got {asked['ask']!r:.60}")
        for name in TEXTS:
            if not isinstance(asked.get(name), str | None):
                raise ValueError(f"{name} must be text or null, got {asked[name]!r:.60}")
        reply = ASKED[asked["ask"]](session, asked)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        reply = Failure(error=_sentence(error))
    return messages.packed({"id": number, **reply})


def _sentence(error: Exception) -> str:
    return f"the request lacks {error}" if isinstance(error, KeyError) else str(error)
