# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementary functions of docs/Numerics.md 8, operation by operation.

Operands and results are binary32 arrays; "b64" formulas run in binary64 and
round once at the end. Arrays of binary64 stay in it (8.6). Every NaN result is
the canonical one.
"""

import re

import numpy as np

F32, F64 = np.float32, np.float64


def _h(text):
    return np.array([float.fromhex(t) for t in text.split()])


L2E = float.fromhex("0x1.71547652b82fep+0")
LN2H = float.fromhex("0x1.62e42fee00000p-1")
LN2L = float.fromhex("0x1.a39ef35793c76p-33")
CR2 = float.fromhex("0x1.6a09e667f3bcdp-1")
CG1 = float.fromhex("0x1.9884533d43651p+0")
CG3 = float.fromhex("0x1.2444f2a4d8b4bp-4")
C12, C13, C14 = 0.5, float.fromhex("0x1.5555555555555p-2"), 0.25
C16 = float.fromhex("0x1.5555555555555p-3")
C124 = float.fromhex("0x1.5555555555555p-5")

E = _h("""0x1.0000000000000p+0 0x1.0000000000000p+0 0x1.0000000000000p-1
 0x1.5555555555555p-3 0x1.5555555555555p-5 0x1.1111111111111p-7
 0x1.6c16c16c16c17p-10 0x1.a01a01a01a01ap-13 0x1.a01a01a01a01ap-16
 0x1.71de3a556c734p-19 0x1.27e4fb7789f5cp-22 0x1.ae64567f544e4p-26""")
G = _h("""0x1.5555555555555p-2 0x1.999999999999ap-3 0x1.2492492492492p-3
 0x1.c71c71c71c71cp-4 0x1.745d1745d1746p-4 0x1.3b13b13b13b14p-4
 0x1.1111111111111p-4 0x1.e1e1e1e1e1e1ep-5""")
F = _h("""0x1.20dd750429b6dp+0 -0x1.812746b0379c1p-2 0x1.ce2f21a040f66p-4
 -0x1.b82ce31203772p-6 0x1.565bccfa44156p-8 -0x1.c02db0665e53dp-11
 0x1.f9a2be4f731a1p-14 -0x1.f4ca838adb73bp-17 0x1.b981d78881a5dp-20
 -0x1.5c131500d3f88p-23 0x1.d76af6ca49787p-27 -0x1.ac9585a44fe29p-31""")
Q = _h("""0x1.40c522d7e4987p+0 -0x1.15c084bb9e8f5p-3 -0x1.85a15c58aa5c9p-5
 0x1.098366a5b47f8p-3 -0x1.e88b803a4a4f4p-4 0x1.17ca2877e8d14p-4
 -0x1.8574c40a9c368p-6 0x1.4b884e5b972d9p-9 0x1.ef1bdb4941080p-10
 -0x1.98db54e47b908p-11 -0x1.b910c381fad39p-14 0x1.065a6b95209e7p-13
 0x1.4b56907d6c929p-18 -0x1.5131d6e31a5bbp-16 -0x1.6c2bd7cb10165p-21
 0x1.cec043b1b2b73p-19 0x1.ecde1cf089cf3p-23 -0x1.1ec452ba850e8p-21""")

SINE = _h("""0x1.0000000000000p+0 -0x1.5555555555555p-3 0x1.1111111111111p-7
 -0x1.a01a01a01a01ap-13 0x1.71de3a556c734p-19 -0x1.ae64567f544e4p-26
 0x1.6124613a86d09p-33 -0x1.ae7f3e733b81fp-41""")
COSINE = _h("""0x1.0000000000000p+0 -0x1.0000000000000p-1 0x1.5555555555555p-5
 -0x1.6c16c16c16c17p-10 0x1.a01a01a01a01ap-16 -0x1.27e4fb7789f5cp-22
 0x1.1eed8eff8d898p-29 -0x1.93974a8c07c9dp-37 0x1.ae7f3e733b81fp-45""")
ARC = _h("""0x1.0000000000000p+0 -0x1.5555555555555p-2 0x1.999999999999ap-3
 -0x1.2492492492492p-3 0x1.c71c71c71c71cp-4 -0x1.745d1745d1746p-4
 0x1.3b13b13b13b14p-4 -0x1.1111111111111p-4 0x1.e1e1e1e1e1e1ep-5
 -0x1.af286bca1af28p-5 0x1.8618618618618p-5 -0x1.642c8590b2164p-5
 0x1.47ae147ae147bp-5 -0x1.2f684bda12f68p-5 0x1.1a7b9611a7b96p-5
 -0x1.0842108421084p-5 0x1.f07c1f07c1f08p-6 -0x1.d41d41d41d41dp-6
 0x1.bacf914c1bad0p-6 -0x1.a41a41a41a41ap-6 0x1.8f9c18f9c18fap-6""")
SINH = _h("""0x1.0000000000000p+0 0x1.5555555555555p-3 0x1.1111111111111p-7
 0x1.a01a01a01a01ap-13 0x1.71de3a556c734p-19 0x1.ae64567f544e4p-26
 0x1.6124613a86d09p-33 0x1.ae7f3e733b81fp-41 0x1.952c77030ad4ap-49
 0x1.2f49b46814157p-57""")
C2PI = float.fromhex("0x1.45f306dc9c883p-1")
P1 = float.fromhex("0x1.921fb54400000p+0")
P2 = float.fromhex("0x1.0b4611a600000p-34")
P3 = float.fromhex("0x1.3198a2e037073p-69")
PI2 = float.fromhex("0x1.921fb54442d18p+0")
T8 = float.fromhex("0x1.a827999fcef32p-2")
LN2 = float.fromhex("0x1.62e42fefa39efp-1")
# Bits of 2 / pi after the point.
TWO_OVER_PI_BITS = 1241
TWO_OVER_PI = int("""
145f306dc9c882a53f84eafa3ea69bb81b6c52b3278872083fca2c757bd778ac
36e48dc74849ba5c00c925dd413a32439fc3bd63962534e7dd1046bea5d76890
9d338e04d68befc827323ac7306a673e93908bf177bf250763ff12fffbc0b301
fde5e2316b414da3eda6cfd9e4f96136e9e8c7ecd3cbfd45aea4f758fd7cbe2f
67a0e73ef14a525d4d7f6bf623f1aba10ac06608df8f6d757e19f78""".replace("\n", ""), 16)


def horner(coefficients, v):
    p = np.full_like(v, coefficients[-1])
    for c in coefficients[-2::-1]:
        p = p * v + c
    return p


def canonical(values):
    """Every NaN to 0x7fc00000, or to that of binary64."""
    if np.asarray(values).dtype == F64:
        return np.where(np.isnan(values), np.nan, values)
    values = np.asarray(values, F32, order="C")
    bits = values.view(np.uint32)
    return np.where(np.isnan(values), np.uint32(0x7FC00000), bits).astype(
        np.uint32).view(F32)


# Binary64 building blocks (8.2).

def EXP(x):
    c = np.where(x < -700, -700.0, np.where(x > 700, 700.0, x))
    n = np.rint(c * L2E)
    r = (c - n * LN2H) - n * LN2L
    whole = np.where(np.isnan(n), 0, n).astype(np.int64)
    return np.ldexp(horner(E, r), whole)


def LOG(x):
    m, k = np.frexp(x)  # 0.5 <= m < 1
    low = m < CR2
    m = np.where(low, m * 2, m)
    k = np.where(low, k - 1, k).astype(F64)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = s + s
    return k * LN2H + (k * LN2L + (w + w * (z * horner(G, z))))


def EXPM1(x):
    near = x * (1.0 + x * (C12 + x * (C16 + x * C124)))
    return np.where(x > -(2.0 ** -10), near, EXP(x) - 1.0)


def LOG1P(y):
    near = y * (1.0 - y * (C12 - y * (C13 - y * C14)))
    far = np.where(np.isfinite(y), y, 1.0)
    return np.where(y < 2.0 ** -10, near,
                    np.where(y == np.inf, np.inf, LOG(1.0 + far)))


def ERF1(x):
    return x * horner(F, x * x)


def ERFC(a):
    b = np.where(a > 12, 12.0, a)
    t = (b - 3.0) / (b + 3.0)
    return (EXP(-(b * b)) * horner(Q, t)) / (1.0 + 2.0 * b)


def _large_angle(x):
    """r and quadrant of one |x| >= 2^20, in integers."""
    m, e = np.frexp(abs(float(x)))
    m, e = int(m * 2.0 ** 53), int(e) - 53
    # 2^e * 2/pi modulo 4 with 126 bits after the point.
    w = TWO_OVER_PI << (126 + e) if e > -126 else TWO_OVER_PI >> (-126 - e)
    w = (w >> TWO_OVER_PI_BITS) % 2 ** 128
    p = m * w % 2 ** 128
    top = p >> 64
    t = (top + 2 ** 61) >> 62
    f = top - (t << 62)
    r = ((float(f) + float(p % 2 ** 64) * 2.0 ** -64) * 2.0 ** -62) * PI2
    return (-r, -t % 4) if x < 0 else (r, t % 4)


def ANGLE(x):
    large = np.isfinite(x) & (np.abs(x) >= 2.0 ** 20)
    near = np.where(np.abs(x) < 2.0 ** 20, x, 0.0)
    n = np.rint(near * C2PI)
    r = ((near - n * P1) - n * P2) - n * P3
    q = n.astype(np.int64) % 4
    r = np.where(np.isfinite(x), r, np.nan)
    for at in zip(*np.nonzero(np.atleast_1d(large))):
        at = at if np.ndim(x) else ()
        r[at], q[at] = _large_angle(x[at])
    return r, q


def SIN(r):
    return r * horner(SINE, r * r)


def COS(r):
    return horner(COSINE, r * r)


def ATAN(x):
    a = np.abs(x)
    b = np.where(a > 1, 1.0 / a, a)
    c = np.where(b > T8, (b - 1.0) / (b + 1.0), b)
    p = c * horner(ARC, c * c)
    s = np.where(b > T8, PI2 / 2 + p, p)
    return np.copysign(np.where(a > 1, PI2 - s, s), x)


# Unary functions (8.1). Each takes x, alpha and beta of one type.

def _wide(function):
    def narrow(x, alpha, beta):
        return function(x.astype(F64), F64(alpha), F64(beta)).astype(x.dtype)
    return narrow


def _log(x, *_):
    inside = np.where((x > 0) & np.isfinite(x), x, 1.0)
    out = np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, LOG(inside)))
    return np.where((x < 0) | np.isnan(x), np.nan, out)


def _tanh(x, *_):
    a = np.abs(x)
    far = np.copysign(1.0 - 2.0 / (EXP(2.0 * a) + 1.0), x)
    return np.where(a < 2.0 ** -10, x * (1.0 - (x * x) * C13), far)


def _elu(x, alpha, _):
    return np.where(x > 0, x, alpha * EXPM1(np.where(x > 0, 0.0, x)))


def _selu(x, alpha, gamma):
    low = gamma * (alpha * EXPM1(np.where(x > 0, 0.0, x)))
    return np.where(x > 0, gamma * x, low)


def _softplus(x, *_):
    return np.where(x > 0, x, 0.0) + LOG1P(EXP(-np.abs(x)))


def _erf(x, *_):
    a = np.abs(x)
    far = np.copysign(1.0 - ERFC(np.where(a >= 1, a, 1.0)), x)
    return np.where(a >= 1, far, ERF1(np.where(a >= 1, 0.0, x)))


def _gelu(x, *_):
    h = 0.5 * x
    u = x * CR2
    a = np.abs(u)
    tail = ERFC(np.where(a < 1, 1.0, a))
    near = h * (1.0 + ERF1(np.where(a < 1, u, 0.0)))
    out = np.where(a < 1, near, np.where(x > 0, h * (2.0 - tail), h * tail))
    # A NaN takes the first branch's place by propagating through h.
    return np.where(x < -16, -0.0, np.where(np.isnan(x), np.nan, out))


def _gelu_tanh(x, *_):
    u = x * (CG1 + CG3 * (x * x))
    return np.where(x < -16, -0.0, x / (1.0 + EXP(-u)))


def _relu(x, *_):
    return np.where(np.isnan(x), x, np.where(x > 0, x, F32(0)))


def _leaky(x, alpha, _):
    return np.where(x < 0, alpha * x, x)


def _clip(x, low, high):
    t = np.where(x < low, low, x)
    return np.where(np.isnan(x), x, np.where(t > high, high, t))


def _hard_sigmoid(x, alpha, beta):
    t = alpha * x
    t = t + beta
    limited = np.where(t < 0, F32(0), np.where(t > 1, F32(1), t))
    return np.where(np.isnan(t), t, limited)


def _hard_swish(x, *_):
    alpha = F32(float.fromhex("0x1.555556p-3"))
    return x * _hard_sigmoid(x, alpha, F32(0.5))


def _sign(x, *_):
    out = np.where(x > 0, F32(1), np.where(x < 0, F32(-1), F32(0)))
    return np.where(np.isnan(x), x, out)


def _sin(x, *_):
    r, q = ANGLE(x)
    y = np.where(q % 2 == 1, COS(r), SIN(r))
    return np.where(q >= 2, -y, y)


def _cos(x, *_):
    r, q = ANGLE(x)
    y = np.where(q % 2 == 1, SIN(r), COS(r))
    return np.where((q == 1) | (q == 2), -y, y)


def _tan(x, *_):
    r, q = ANGLE(x)
    return np.where(q % 2 == 1, -(COS(r) / SIN(r)), SIN(r) / COS(r))


def _sinh(x, *_):
    a = np.abs(x)
    far = np.copysign((EXP(a) - EXP(-a)) * 0.5, x)
    return np.where(a < 1, x * horner(SINH, x * x), far)


def _cosh(x, *_):
    a = np.abs(x)
    return (EXP(a) + EXP(-a)) * 0.5


def _far_log(x):
    inside = np.where((x > 0) & np.isfinite(x), x, 1.0)
    return np.where(np.isfinite(x), LOG(inside), x) + LN2


def _asinh(x, *_):
    a = np.abs(x)
    near = np.where(a < 2.0 ** 28, a, 1.0)
    s = near * near
    y = LOG1P(near + s / (1.0 + np.sqrt(1.0 + s)))
    return np.copysign(np.where(a < 2.0 ** 28, y, _far_log(a)), x)


def _acosh(x, *_):
    t = np.where((x >= 1) & (x < 2.0 ** 28), x, 1.0) - 1.0
    y = LOG1P(t + np.sqrt(t * (t + 2.0)))
    return np.where(x < 1, np.nan, np.where(x < 2.0 ** 28, y, _far_log(x)))


def _atanh(x, *_):
    a = np.abs(x)
    inside = np.where(a <= 1, a, 0.5)
    y = np.copysign(LOG1P((inside + inside) / (1.0 - inside)) * 0.5, x)
    return np.where(a <= 1, y, np.nan)


UNARY = {
    "neg": lambda x, *_: -x,
    "abs": lambda x, *_: np.abs(x),
    "sqrt": lambda x, *_: np.sqrt(x),
    "exp": _wide(lambda x, *_: EXP(x)),
    "log": _wide(_log),
    "reciprocal": lambda x, *_: F32(1) / x,
    "relu": _relu,
    "leakyRelu": _leaky,
    "clip": _clip,
    "sigmoid": _wide(lambda x, *_: 1.0 / (1.0 + EXP(-x))),
    "tanh": _wide(_tanh),
    "hardSigmoid": _hard_sigmoid,
    "hardSwish": _hard_swish,
    "elu": _wide(_elu),
    "selu": _wide(_selu),
    "softplus": _wide(_softplus),
    "softsign": _wide(lambda x, *_: x / (1.0 + np.abs(x))),
    "erf": _wide(_erf),
    "gelu": _wide(_gelu),
    "geluTanh": _wide(_gelu_tanh),
    "floor": lambda x, *_: np.floor(x),
    "ceil": lambda x, *_: np.ceil(x),
    "round": lambda x, *_: np.rint(x),
    "sign": _sign,
    "swish": _wide(lambda x, alpha, _: x / (1.0 + EXP(-(alpha * x)))),
    "sin": _wide(_sin),
    "cos": _wide(_cos),
    "tan": _wide(_tan),
    "asin": _wide(lambda x, *_: ATAN(x / np.sqrt((1.0 - x) * (1.0 + x)))),
    "acos": _wide(lambda x, *_: 2.0 * ATAN(np.sqrt((1.0 - x) / (1.0 + x)))),
    "atan": _wide(lambda x, *_: ATAN(x)),
    "sinh": _wide(_sinh),
    "cosh": _wide(_cosh),
    "asinh": _wide(_asinh),
    "acosh": _wide(_acosh),
    "atanh": _wide(_atanh),
    "not": lambda x, *_: (x == 0).astype(F32),
}


def key(name):
    """Spellings leaky_relu, LeakyRelu and leakyRelu are one function."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


UNARY_BY_KEY = {key(name): f for name, f in UNARY.items()}
COPY = {"copy", "identity", "none", ""}


def unary(name, x, alpha=0.0, beta=0.0):
    if key(name) in COPY:
        return x
    with np.errstate(all="ignore"):
        x = floats(x)
        number = x.dtype.type
        y = UNARY_BY_KEY[key(name)](x, number(alpha), number(beta))
        return canonical(y.astype(x.dtype))


def floats(x):
    """x as binary32, unless it is in binary64."""
    x = np.asarray(x)
    return x if x.dtype == F64 else x.astype(F32)


# Binary functions (8.3, 8.4).

def _max(x, y):
    out = np.where(x > y, x, y)
    return np.where(np.isnan(x) | np.isnan(y), F32(np.nan), out)


def _min(x, y):
    out = np.where(x < y, x, y)
    return np.where(np.isnan(x) | np.isnan(y), F32(np.nan), out)


def _prelu(x, y):
    return np.where(x < 0, x * y, x)


def _mod(x, y):
    return np.fmod(x, y)


def _power(x, y):
    a = np.abs(x.astype(F64))
    inside = np.where((a > 0) & np.isfinite(a), a, 1.0)
    logarithm = np.where(a == 0, -np.inf, np.where(np.isinf(a), np.inf, LOG(inside)))
    wide_y = y.astype(F64)
    r = np.where(a == 1, 1.0, EXP(wide_y * logarithm))
    whole = np.isinf(y) | (np.floor(y) == y)
    odd = np.isfinite(y) & whole & (np.abs(np.fmod(wide_y, 2.0)) == 1)
    edge = (x == 0) | np.isinf(x)
    negative = np.where(odd, -r, np.where(whole, r, np.where(edge, r, np.nan)))
    return np.where(np.signbit(x), negative, r).astype(x.dtype)


def _pow(x, y):
    x, y = np.broadcast_arrays(x, y)
    out = _power(x, y)
    cube = x.astype(F64)
    cube = ((cube * cube) * cube).astype(x.dtype)
    rules = [((y == F32(0.5)) & (x > 0), np.sqrt(x)), (y == 3, cube),
             (y == -1, F32(1) / x), (y == 2, x * x), (y == 1, x),
             (np.isnan(x) | np.isnan(y), F32(np.nan)),
             ((x == 1) | (y == 0), F32(1))]
    for applies, value in rules:  # the first rule of the list applies last
        out = np.where(applies, value, out)
    return out


def _truth(test):
    return lambda x, y: test(x, y).astype(F32)


BINARY = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "max": _max, "min": _min, "pow": _pow, "prelu": _prelu, "mod": _mod,
    "equal": _truth(lambda x, y: x == y), "less": _truth(lambda x, y: x < y),
    "lessOrEqual": _truth(lambda x, y: x <= y),
    "greater": _truth(lambda x, y: x > y),
    "greaterOrEqual": _truth(lambda x, y: x >= y),
    "and": _truth(lambda x, y: (x != 0) & (y != 0)),
    "or": _truth(lambda x, y: (x != 0) | (y != 0)),
    "xor": _truth(lambda x, y: (x != 0) ^ (y != 0)),
}
BINARY_BY_KEY = {key(name): f for name, f in BINARY.items()}


def binary(name, x, y):
    with np.errstate(all="ignore"):
        x, y = floats(x), floats(y)
        return canonical(BINARY_BY_KEY[key(name)](x, y).astype(x.dtype))


# Integer operands (8.5): int64 with wrap.

def _int_div(x, y):
    safe = np.where(y == 0, 1, y)
    quotient = np.abs(x) // np.abs(safe)
    quotient = np.where((x < 0) != (safe < 0), -quotient, quotient)
    return np.where(y == 0, 0, quotient)


def _int_mod(x, y):
    safe = np.where(y == 0, 1, y)
    return np.where(y == 0, 0, np.mod(x, safe))


def _int_pow(x, y):
    x, y = np.broadcast_arrays(x, y)
    out = np.ones(x.shape, np.int64)
    for step in range(int(y.max()) if y.size else 0):
        out = np.where(step < y, out * x, out)
    odd = (y % 2) != 0
    negative = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0))
    return np.where(y < 0, negative, out)


INTEGER = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y, "div": _int_div, "mod": _int_mod,
    "max": np.maximum, "min": np.minimum, "pow": _int_pow,
    "equal": lambda x, y: x == y, "less": lambda x, y: x < y,
    "lessorequal": lambda x, y: x <= y, "greater": lambda x, y: x > y,
    "greaterorequal": lambda x, y: x >= y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "prelu": lambda x, y: np.where(x < 0, x * y, x),
}


def integer_binary(name, x, y):
    with np.errstate(all="ignore"):
        result = INTEGER[key(name)](x.astype(np.int64), y.astype(np.int64))
        return result.astype(np.int64)


INTEGER_UNARY = {
    "neg": lambda x: -x, "abs": np.abs, "sign": np.sign,
    "not": lambda x: (x == 0).astype(np.int64),
    "relu": lambda x: np.maximum(x, 0),
}
