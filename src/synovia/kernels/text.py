"""Numbers and names in lines of text."""

from __future__ import annotations

import numpy as np

from .jit import kernel

POWERS = np.array([10.0**k for k in range(23)])
"""The powers of ten that float64 holds exactly."""
FIVES = np.array([5**k for k in range(23)], dtype=np.int64)
HALVES = np.array([0.5**k for k in range(128)])
EXACT = 2**53
"""Integers up to here are exact in float64."""
ROOM = 10**17
"""A mantissa below this takes another digit."""


@kernel
def quotient(mantissa, power):
    """Return `mantissa` / 10**`power`, correctly rounded, for a positive int64 and up to 22.

    Long division by 5**power, up to 11 bits at a time, until at least 55 bits are known. Whatever
    remains goes into the last of them, and the machine rounds the integer to the nearest float.
    """
    divisor = FIVES[power]
    whole = mantissa // divisor
    rest = mantissa % divisor
    while whole < 2 * EXACT:
        bits = 11 if whole < EXACT // 4 else 8
        rest = rest << bits
        whole = (whole << bits) + rest // divisor
        rest = rest % divisor
        power += bits
    if rest > 0:
        whole |= 1
    return np.float64(whole) * HALVES[power]


@kernel("u1[] i8[] f8[] i8[] i8[,]")
def scan(text, cursor, values, counts, hard):
    """Read the numbers of `text` from `cursor` on, and return the first bad byte's place or -1.

    `text` is uint8. `cursor` holds the place in the text, the numbers and the lines so far, and is
    moved on. Numbers are correctly rounded; one of more than 18 digits or with a large exponent is
    left to the caller, as a row (number, start, stop) of `hard`, which is closed by a row of -1 or
    by its end. Where `hard` is full the scan pauses: it is done when the cursor is at the end of
    the text. `counts` has how many numbers each line holds. Lines end in LF, CR or both; a sign may
    follow a number without a space.
    """
    size = text.size
    at, number, line = cursor[0], cursor[1], cursor[2]
    left = 0
    bad = -1
    while at < size and left < hard.shape[0]:
        byte = int(text[at])
        if byte == 32 or byte == 9 or byte == 11 or byte == 12:
            at += 1
            continue
        if byte == 10 or byte == 13:
            at += 1
            if byte == 13 and at < size and text[at] == 10:
                at += 1
            line += 1
            continue
        start = at
        negative = byte == 45
        if negative or byte == 43:
            at += 1
        mantissa = 0
        power = 0
        digits = 0
        long = False
        while at < size and 48 <= text[at] <= 57:
            if mantissa < ROOM:
                mantissa = mantissa * 10 + (int(text[at]) - 48)
            else:
                long = True
            digits += 1
            at += 1
        if at < size and text[at] == 46:
            at += 1
            while at < size and 48 <= text[at] <= 57:
                if mantissa < ROOM:
                    mantissa = mantissa * 10 + (int(text[at]) - 48)
                    power -= 1
                else:
                    long = True
                digits += 1
                at += 1
        if digits > 0 and at < size and (text[at] == 69 or text[at] == 101):
            at += 1
            down = at < size and text[at] == 45
            if down or (at < size and text[at] == 43):
                at += 1
            digits = 0
            exponent = 0
            while at < size and 48 <= text[at] <= 57:
                exponent = min(exponent * 10 + (int(text[at]) - 48), 100_000)
                digits += 1
                at += 1
            power += -exponent if down else exponent
        if digits == 0:
            bad = at
            break
        if at < size:
            byte = int(text[at])
            blank = byte == 32 or 9 <= byte <= 13
            if not (blank or byte == 45 or byte == 43):
                bad = at
                break
        value = 0.0
        if mantissa == 0:
            pass
        elif long or power < -22 or power > (22 if mantissa <= EXACT else 0):
            hard[left, 0], hard[left, 1], hard[left, 2] = number, start, at
            left += 1
        elif power >= 0:
            value = mantissa * POWERS[power]
        elif mantissa <= EXACT:
            value = mantissa / POWERS[-power]
        else:
            value = quotient(mantissa, -power)
        values[number] = -value if negative else value
        counts[line] += 1
        number += 1
    if left < hard.shape[0]:
        hard[left, 0] = -1
    cursor[0], cursor[1], cursor[2] = at, number, line
    return bad


@kernel("u1[] u1[] i8[] i8[]")
def blank_names(text, names, ends, found):
    """Overwrite the name at the start of each line with spaces, and write its index to `found`.

    `names` are concatenated, and `ends` are their ends; lines end in LF. A line with nothing but a
    frame's number n, of up to 12 digits, becomes spaces too, and is -2 - n in `found`. Other lines
    stay as they are, and are -1. Names usually repeat in the same order, so the search begins with
    the one after the last.
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
