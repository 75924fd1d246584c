"""Names at the beginnings of lines."""

from __future__ import annotations

from .jit import kernel


@kernel("u1[] u1[] i8[] i8[]")
def blank_names(text, names, ends, found):
    """Put spaces for the name that each line of `text` starts with, and write which it is.

    `names` are in one row, each up to its place in `ends`; lines end in LF. A line that is a
    frame's number n alone, of up to 12 digits, becomes spaces too, and is -2 - n in `found`. Others
    stay as they are, and are -1. Names mostly follow each other in the same order, so the search
    begins with the one after the last.
    """
    size, count = text.size, ends.shape[0]
    at, line, following = 0, 0, 0
    while at < size:
        while at < size and (text[at] == 32 or text[at] == 9):
            at += 1
        start, number, digits = at, 0, 0
        while at < size and text[at] > 32:
            if 48 <= text[at] <= 57 and digits < 12:
                number = 10 * number + int(text[at]) - 48
                digits += 1
            at += 1
        found[line] = -1
        if digits > 0 and digits == at - start:
            last = at
            while last < size and (text[last] == 32 or text[last] == 9 or text[last] == 13):
                last += 1
            if last == size or text[last] == 10:
                found[line] = -2 - number
                for i in range(start, at):
                    text[i] = 32
        for k in range(count if found[line] == -1 else 0):
            name = (following + k) % count
            first = ends[name - 1] if name > 0 else 0
            if ends[name] - first != at - start:
                continue
            same = 0
            while same < at - start and text[start + same] == names[first + same]:
                same += 1
            if same == at - start:
                found[line] = name
                following = name + 1
                for i in range(start, at):
                    text[i] = 32
                break
        while at < size and text[at] != 10:
            at += 1
        at += 1
        line += 1
