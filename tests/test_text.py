"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest

from synovia.text import percent


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (1e-9, "<0.0001%"),
        (1e-6, "0.00010%"),
        (0.005, "0.50%"),
        (0.01, "1.0%"),
        (0.1234, "12.3%"),
        (1.0, "100.0%"),
    ],
)
def test_percent_has_a_fixed_number_of_digits(share, text):
    assert percent(share) == text


@pytest.mark.parametrize("share", [0.005, 0.01, 0.1, 1.0])
def test_the_last_bit_of_a_share_does_not_change_its_digits(share):
    assert percent(math.nextafter(share, 0.0)) == percent(share) == percent(share + 1e-16)
