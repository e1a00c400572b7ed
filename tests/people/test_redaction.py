"""Redaction: what must go goes, and what only looks like it stays."""

import pytest

from personafit.people.redaction import luhn, redact, redacted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to anna.b+x@mail.example.co.uk.", "Write to [e-mail]."),
        ("邮箱是anna@example.com，谢谢", "邮箱是[e-mail]，谢谢"),
        ("Ring (415) 555-2671 or 415-555-2671", "Ring [phone] or [phone]"),
        ("Ring +44 7700 900123, or 07700 900 123.", "Ring [phone], or [phone]."),
        ("手机13812345678，座机010-62345678", "手机[phone]，座机[phone]"),
        ("my phone number is 555 123 45", "my phone number is [phone]"),
        ("card 4111 1111 1111 1111, amex 3782-822463-10005", "card [card], amex [card]"),
        ("卡号6222021234567890128好", "卡号[card]好"),
        ("key sk-abcdefghijklmnopqrstuv12 and AKIAIOSFODNN7EXAMPLE", "key [key] and [key]"),
        ("password: hunter2!x", "password: [key]"),
        ("密码是abc12345，别外传", "密码是[key]，别外传"),
        ("https://bob:hunter2@host/x", "https://bob:[key]@host/x"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- end", "[key] end"),
    ],
)
def test_what_goes(text: str, expected: str) -> None:
    assert redacted(text) == expected
    assert redacted(expected) == expected, "twice is as once"


@pytest.mark.parametrize(
    "text",
    [
        "On 2024-11-15 at 10:30, or 12.5.2024, it cost £1,299.00 (1.299,00 €).",
        "ISBN 978-3-16-148410-0, order 1234567890123456, tracking 1Z999AA10123456784.",
        "Servers 192.168.100.200 and 10.0.0.1, version 10.0.19041.1234, commit 3f786850e387550fdab836ed7e6dc881de23001b.",
        "pi is 3.14159265358979, the population is 1 412 000 000, 2^31 is 2147483648.",
        "4111111111111112 fails its check, 0000 0000 0000 0000 is no card.",
        "@anna_b said user@host is no address; the password is required here; token: 12345678.",
        "第 1234567 号，2025年11月15日，价格 13800 元，共 12345678901 条。",
        "Room 1013, seats 12-14, sizes 34-36-38, 100-200-300 reps, 5-3-2.",
        "The secret is patience, and the key: listening.",
    ],
)
def test_what_stays(text: str) -> None:
    assert redacted(text) == text


def test_counts_by_kind() -> None:
    counts = redact("a@b.io, c@d.io, 4111 1111 1111 1111").counts
    assert dict(counts) == {"e-mail": 2, "card": 1}


def test_luhn() -> None:
    assert luhn("79927398713")
    assert not luhn("79927398710")
