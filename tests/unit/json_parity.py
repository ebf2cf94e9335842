#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares base/json, num and utf8 with Python itself: json_parity.py [FILTER].

Thousands of texts, numbers and strings from a fixed seed go through FILTER (json_filter.c, in the
build folder, which is the current one in `make check`); every answer must be what Python's json,
str() and repr() say."""

import json
import random
import struct
import subprocess
import sys
import unicodedata

rng = random.Random(20240501)
sys.setrecursionlimit(10000)
if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)  # integers of any length: the contract has no limit


# --- what is expected ---------------------------------------------------------------------------


def odd(text):
    return any(c == "\0" or 0xD800 <= ord(c) < 0xE000 for c in text)


class Pairs(list):
    """The members of an object, repeated ones too."""


def must_carry_odd(text):
    """Whether a variable or an argument would have to hold what UTF-8 text cannot."""
    value = json.loads(text, object_pairs_hook=Pairs)
    if isinstance(value, str):
        return odd(value)
    if isinstance(value, Pairs):
        return any(odd(k) or isinstance(v, str) and odd(v) for k, v in value)
    return False


def argument(value):
    """The toolkit's rule for the value of a user argument."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return ",".join("%s=%s" % (k, v) for k, v in sorted(value.items()))
    return str(value)


def expected(text):
    try:
        value = json.loads(text)
    except ValueError:
        return ["EINVAL"]
    if must_carry_odd(text):
        return ["EILSEQ"]
    contract = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    variable = "" if value is None else value if isinstance(value, str) else contract
    return ["OK", contract, variable, json.dumps(value), argument(value), repr(value),
            str(bool(value))]


# --- what is tried --------------------------------------------------------------------------------

ALPHABET = (
    [chr(c) for c in range(0x20, 0x7F)]
    + list("éßİŉǆ数据😀\u200b\u00a0\u00ad\u2028\ufeff\u0085\U000e0001\U0010ffff\u0378\ue000'\"\\\x7f")
)
ESCAPES = ['\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u00e9", "\\u0041", "\\uD83D\\uDE00",
           "\\u001f", "\\u2028", "\\uFEFF", "\\u00A0", "\\ud83d\\ude00"]
ODD = ["\\u0000", "\\ud800", "\\udc00", "\\ud800\\ud800", "\\ude00\\ud83d", "\\ud83d\\u0041"]
SPACES = ["", "", "", " ", "\n", "\t", "\r", "  "]
NUMBERS = """0 -0 -0.0 0.0 1 -1 7 10 1e400 -1e400 1e-400 1e5 1E5 1e+5 1e-5 1E+2 0.1 1.0 100000.0 1e15 1e16 1e17
1e22 1e23 123456789012345678901234567890 -98765432109876543210 3.141592653589793238462643 5e-324 2.5e-324
1.7976931348623157e308 2.2250738585072014e-308 2.2250738585072011e-308 0.0001 0.00001 9999999999999998.0
9007199254740993.0 0.30000000000000004 5.9604644775390625e-08 4.35 1e0 0e0 0E5 -0e1 NaN Infinity -Infinity
01 -01 00 1. .5 +1 0x10 1_000 - -. 1e 1e+ 1.e5 1.5e -Inf inf nan -NaN --1 1..2 1e5.5 True None undefined
nul tru fals infinity 1a 0b1 1,""".split()


def text_string(wild):
    parts = []
    for _ in range(rng.randint(0, 8)):
        kind = rng.random()
        if kind < 0.6:
            c = rng.choice(ALPHABET)
            parts.append(c if c not in '"\\' else "\\" + c)
        elif kind < 0.9 or not wild:
            parts.append(rng.choice(ESCAPES))
        else:
            parts.append(rng.choice(ODD))
    return '"' + "".join(parts) + '"'


def text_number():
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(NUMBERS)
    if kind < 0.5:
        return str(rng.randint(-(10 ** rng.randint(1, 40)), 10 ** rng.randint(1, 40)))
    if kind < 0.75:
        return "%.*g" % (rng.randint(1, 25), rng.uniform(-1, 1) * 10.0 ** rng.randint(-30, 30))
    return "%d.%0*de%d" % (rng.randint(-99, 99), rng.randint(1, 20), rng.randint(0, 9), rng.randint(
        -330, 310))


def text_value(depth):
    kind = rng.random()
    space = lambda: rng.choice(SPACES)
    if depth and kind < 0.25:
        return "[" + ",".join(space() + text_value(depth - 1) + space() for _ in range(rng.randint(
            0, 4))) + "]"
    if depth and kind < 0.5:
        name = lambda: rng.choice(['"a"', '"b"', '"B"', '"é"', '""', text_string(depth < 3)])
        return "{" + ",".join(space() + name() + space() + ":" + space() + text_value(depth - 1) +
                              space() for _ in range(rng.randint(0, 5))) + "}"
    if kind < 0.7:
        return text_string(True)
    if kind < 0.9:
        return text_number()
    return rng.choice(["true", "false", "null", "[]", "{}", "[ ]", "{ }"])


def damage(text):
    """A text with one or two characters lost, doubled, changed or added."""
    for _ in range(rng.randint(1, 2)):
        at = rng.randint(0, len(text))
        add = rng.choice(['"', "\\", ",", ":", "[", "]", "{", "}", "e", ".", "-", "0", "\n", "\x01", "\x00",
                          "\u00a0", "\ufeff", "\\u", "\\x", "/", " ", "'"])
        text = text[:at] + rng.choice(["", add]) + text[at + rng.randint(0, 1):]
    return text


def json_texts():
    texts = NUMBERS + ESCAPES + ["", " ", '""', '"', "[", "{", "[1,]", '{"a":1,}', '{"a"}', "{1:2}", "1 2",
                                 '"a\nb"', '"\\q"', '"\\u12"', '"\\u12g4"', '"\\ud800\\u12"', "[1 2]",
                                 '["\\ud800",]', '"\\u0000" x', "\ufeff1", "1\ufeff", "\u00a07", "\x0c1",
                                 '{"a\\u0000":{"b":1}}', '[{"a\\u0000":1,"a":2,"ab":3,"a\\u0001":4}]',
                                 '["a\\u0000b","\\ud800","\\udfff",{"\\udc00":1,"\\ue000":2}]',
                                 '{"a":{"b\\u0000":"\\ud9ab"},"c":["\\u0000"]}',
                                 "[" * 899 + "]" * 899]
    texts += [text_number() for _ in range(2000)]
    texts += [rng.choice(SPACES) + text_value(rng.randint(1, 4)) + rng.choice(SPACES) for _ in range(
        3000)]
    texts += [damage(text_value(rng.randint(1, 3))) for _ in range(4000)]
    return [text for text in texts if not odd(text.replace("\0", ""))]


def floats():
    values = [2.0**e for e in range(-1074, 1024)] + [10.0**e for e in range(-323, 309)]
    values += [struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0] for _ in range(5000)]
    values += [struct.unpack("<d", struct.pack("<Q", rng.getrandbits(rng.randint(1, 53))))[0]
               for _ in range(1000)]
    values += [round(rng.uniform(-1e6, 1e6), rng.randint(0, 6)) for _ in range(2000)]
    return values + [-v for v in values[:500]] + [0.0, -0.0]


def comparable(version):
    """All characters; in another Unicode than ours only those that are, with their upper case, old
    enough to be the same in both."""
    codes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    if version == "14.0.0":
        return codes
    old = lambda c: unicodedata.ucd_3_2_0.category(c) != "Cn"
    return [c for c in codes if all(map(old, chr(c) + chr(c).upper()))]


def replaceable():
    pieces = [b"a", b"\xc3\xa9", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\x80", b"\xc0", b"\xc3", b"\xe2\x82",
              b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xe0\x80\x80", b"\xff",
              b"\xf5", b"\0"]
    return [b"".join(rng.choice(pieces) for _ in range(rng.randint(0, 6))) for _ in range(2000)]


def cases():
    """Pairs of a request and the answer it must get, in bytes."""
    version = unicodedata.unidata_version
    codes = comparable(version)
    for text in json_texts():
        # surrogates stand for themselves in what is expected, but never reach a compared text
        yield b"j", text.encode(), [part.encode("utf-8", "surrogatepass") for part in expected(text)]
    for value in floats():
        yield b"f", struct.pack("<d", value), [json.dumps(value).encode()]
    for start in range(0, len(codes), 4096):
        text = "".join(chr(c) for c in codes[start:start + 4096])
        marks = "".join("1" if c.isprintable() else "0" for c in text)
        yield b"u", text.encode(), [text.upper().encode()]
        yield b"p", text.encode(), [marks.encode()]
    for data in replaceable():
        yield b"r", data, [data.decode("utf-8", "replace").encode()]


def main():
    tried = list(cases())
    sent = b"".join(letter + struct.pack("<I", len(data)) + data for letter, data, _ in tried)
    program = sys.argv[1] if len(sys.argv) > 1 else "./json_filter"
    done = subprocess.run([program], input=sent, stdout=subprocess.PIPE, timeout=60)
    got, at, wrong = done.stdout, 0, 0
    for letter, data, wanted in tried:
        answer = []
        for _ in range(len(wanted)):
            size = int.from_bytes(got[at:at + 4], "little")
            answer.append(got[at + 4:at + 4 + size])
            at += 4 + size
            if answer[0] != wanted[0]:
                break
        if answer != wanted:
            wrong += 1
            print(f"{letter!r} {data[:300]!r}\n  expected {wanted!r}\n  found    {answer!r}"[:2000])
            break  # the answers that follow may be of another number
    if done.returncode or at != len(got) or wrong:
        sys.exit(f"json_parity: failed; filter status {done.returncode}")
    print(f"json_parity: {len(tried)} cases, all as Python {sys.version.split()[0]} has them")


main()
