"""Circular functions as polynomials: no branch, no library call, so loops become vector code.

`real` is the type to compute in. The coefficients are those of Chebyshev interpolation on the
interval named, in powers of u; float32 needs fewer.
"""

from __future__ import annotations

from .jit import kernel


@kernel
def atan_over_root(u, real):
    """Return atan(√u)/√u for u in [0, 1], to 2e-16.

    Summed in pairs, which wait less for each other than one power after the other; but the 1 is
    added last, so that the rounding of the others does not count.
    """
    square = u * u
    fourth = square * square
    eighth = fourth * fourth
    a = (real(-0.333333333333307) + real(0.1999999999964796) * u) + (
        real(-0.14285714266926733) + real(0.11111110578002083) * u
    ) * square
    b = (real(-0.09090899793217341) + real(0.07692198997458294) * u) + (
        real(-0.06665764910689723) + real(0.058768281144872724) * u
    ) * square
    c = (real(-0.052374234719188166) + real(0.04668745304848529) * u) + (
        real(-0.040811247503178855) + real(0.03387126702700675) * u
    ) * square
    d = (real(-0.02556862364437174) + real(0.01671959606350739) * u) + (
        real(-0.00899108054265826) + real(0.003751138483965141) * u
    ) * square
    e = (real(-0.0011252544302234645) + real(0.00021423810738603946) * u) + (
        real(-1.93423475928923e-05) * square
    )
    rest = (a + b * fourth) + ((c + d * fourth) + e * eighth) * eighth
    return rest * u + real(1.0)


@kernel
def atan_in_pairs(u):
    """Return atan(√u)/√u for u in [0, 1], to 5e-14.

    For float64 alone, and for what is compared with limits as exact as that: four terms less.
    """
    square = u * u
    fourth = square * square
    a = (0.9999999999999529 - 0.333333333309179 * u) + (
        0.19999999793216372 - 0.14285707228207567 * u
    ) * square
    b = (0.11110983522633062 - 0.09089500392413241 * u) + (
        0.07681973191148486 - 0.06613449609041708 * u
    ) * square
    c = (0.05682524416240832 - 0.04700284191414538 * u) + (
        0.03544443655247964 - 0.02278861717360462 * u
    ) * square
    d = (0.011592281749386492 - 0.00426835161867844 * u) + (
        0.000995812809390005 - 0.0001094606339388557 * u
    ) * square
    return (a + b * fourth) + (c + d * fourth) * (fourth * fourth)


@kernel
def cos_root(u, real):
    """Return cos √u for u in [0, 3.86], to 3e-16."""
    p = real(-1.4845602223097356e-16)
    p = p * u + real(4.773189772358186e-14)
    p = p * u - real(1.147046152838386e-11)
    p = p * u + real(2.08767492195548e-09)
    p = p * u - real(2.7557319092399505e-07)
    p = p * u + real(2.4801587300229745e-05)
    p = p * u - real(0.0013888888888880842)
    p = p * u + real(0.04166666666666642)
    p = p * u - real(0.49999999999999994)
    return p * u + real(1.0)


@kernel
def sinc_root(u, real):
    """Return sin √u/√u for u in [0, 3.86], to 1e-16."""
    p = real(2.6722226657626883e-15)
    p = p * u - real(7.637178773522992e-13)
    p = p * u + real(1.6058656122442538e-10)
    p = p * u - real(2.505209959680481e-08)
    p = p * u + real(2.7557319106863094e-06)
    p = p * u - real(0.00019841269840392624)
    p = p * u + real(0.00833333333333004)
    p = p * u - real(0.16666666666666619)
    return p * u + real(1.0)


@kernel
def atan_over_root_single(u, real):
    """As `atan_over_root`, for float32: to 2e-8."""
    p = real(0.002766283501762026)
    p = p * u - real(0.01573124912218365)
    p = p * u + real(0.04213762358919304)
    p = p * u - real(0.07456854826004547)
    p = p * u + real(0.10618370636953849)
    p = p * u - real(0.14197797794085124)
    p = p * u + real(0.19991872029109073)
    p = p * u - real(0.33333036709286273)
    return p * u + real(0.9999999817886557)


@kernel
def cos_root_single(u, real):
    """As `cos_root`, for float32: to 2e-8."""
    p = real(-2.523633954279267e-07)
    p = p * u + real(2.4702219115060048e-05)
    p = p * u - real(0.001388691454493305)
    p = p * u + real(0.041666488835908254)
    p = p * u - real(0.4999999413255055)
    return p * u + real(0.9999999968591522)


@kernel
def sinc_root_single(u, real):
    """As `sinc_root`, for float32: to 1e-9."""
    p = real(-2.3257315137201244e-08)
    p = p * u + real(2.7480343938325943e-06)
    p = p * u - real(0.00019839739157494766)
    p = p * u + real(0.008333319540368773)
    p = p * u - real(0.1666666621147838)
    return p * u + real(0.9999999997563277)
