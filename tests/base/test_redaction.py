"""What looks like a secret leaves a text, once and for all, and JSON stays JSON."""

from __future__ import annotations

import hashlib
import json
import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure.base.redaction import Redactor, holds_key, redacted

B64 = string.ascii_letters + string.digits


def chance(length: int, seed: int = 1, alphabet: str = B64) -> str:
    """Make a text that looks like chance, the same every time."""
    made = ""
    count = 0
    while len(made) < length:
        digest = hashlib.sha256(f"{seed}:{count}".encode()).digest()
        made += "".join(alphabet[byte % len(alphabet)] for byte in digest)
        count += 1
    return made[:length]


def mark(secret: str) -> str:
    """Give the mark that stands for a secret."""
    return f"[secret {hashlib.sha256(secret.encode()).hexdigest()[:8]}]"


PEM = (
    f"-----BEGIN RSA PRIVATE KEY-----\n{chance(64)}\n{chance(30)}==\n-----END RSA PRIVATE KEY-----"
)

SHAPES = {
    "openai": f"sk-proj-{chance(40)}",
    "anthropic": f"sk-ant-api03-{chance(40)}",
    "github": f"ghp_{chance(36)}",
    "github fine": f"github_pat_{chance(40)}",
    "gitlab": f"glpat-{chance(20)}",
    "aws id": "AKIAIOSFODNN7EXAMPLE",
    "aws secret": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "slack": f"xoxb-123456789012-{chance(24)}",
    "google": f"AIza{chance(35)}",
    "google oauth": f"ya29.{chance(40)}",
    "stripe": f"sk_live_{chance(24)}",
    "stripe hook": f"whsec_{chance(32)}",
    "hugging face": f"hf_{chance(34)}",
    "sendgrid": f"SG.{chance(22)}.{chance(43)}",
    "npm": f"npm_{chance(36)}",
    "pypi": f"pypi-{chance(60)}",
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{chance(43)}",
    "pem": PEM,
    "no shape": chance(20),
    "base64url": chance(43, 5, B64 + "-_"),
}

# text -> the secret in it
NAMED = {
    "password=hunter2": "hunter2",
    "DB_PASSWORD=correcthorse": "correcthorse",
    "DB_PWD=correcthorse": "correcthorse",
    "PASSWORD=/correct/horse": "/correct/horse",
    'password: "two words 1"': "two words 1",
    '{"client_secret": "abc-123"}': "abc-123",
    "Authorization: Bearer abcdef12": "abcdef12",
    "authorization=Basic dXNlcjpwYXNz": "dXNlcjpwYXNz",
    "curl -H 'X-Api-Key: 0a1b2c3d'": "0a1b2c3d",
    "Bearer 0123456789abcdef": "0123456789abcdef",
    "API_KEY=0123456789abcdef0123456789abcdef": "0123456789abcdef0123456789abcdef",
    "openai_key=0123456789abcdef": "0123456789abcdef",
    "--token abc123": "abc123",
    "postgres://bob:s3cr3t@host/db": "s3cr3t",
    "https://h/p?token=a1b2c3d4&x=1": "a1b2c3d4",
    r"{\"token\": \"a1b2c3d4\"}": "a1b2c3d4",
    "{'secret' => 'a1b2c3d4'}": "a1b2c3d4",
}

INNOCENT = [
    "commit 0123456789abcdef0123456789abcdef01234567",
    hashlib.sha256(b"").hexdigest(),
    "123e4567-e89b-12d3-a456-426614174000",
    "src/perdure/agent/Drive2/tools/bench.py:12",
    "test_Foo2_handles_bar_Baz_and_quux",
    "MyModule2HandlesTheWholeThing",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    "sha512-" + chance(86) + "==",
    "password: required",
    "token = os.environ.get(name)",
    "TOKEN=$OTHER",
    "max_tokens: 4096",
    '{"token": 12345678901234567890123456789012}',
    "The secret: keep going. Basic understanding of keys: one per door.",
    "https://example.com:8080/path",
    "PWD=/home/someone/study-2",
    "OLDPWD=~/study-2 PWD=../study-2",
    '{"PWD": "/home/someone/study-2"}',
    "[secret 0123abcd]",
]


@pytest.mark.parametrize("secret", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(
    "around", ["{}", "see {}, and", '"{}"', "\t{}\n", "https://h/?a={}&b", "({})"]
)
def test_a_known_shape_is_found_wherever_it_stands(secret: str, around: str) -> None:
    """Alone, in a sentence, quoted, and in an address: one mark stands where the secret was."""
    assert redacted(around.format(secret)) == around.format(mark(secret))


@pytest.mark.parametrize("secret", SHAPES.values(), ids=SHAPES)
def test_a_secret_within_json_is_found_and_json_stays_json(secret: str) -> None:
    """Escapes are no part of a secret, at one level of quoting and at two."""
    for value in (secret, f"\n{secret}", f"a\t{secret}\r\n", f"\u2028{secret}"):
        text = json.dumps({"x": [value], "y": json.dumps({"z": value})})
        safe = redacted(text)
        read = json.loads(safe)
        assert json.loads(read["y"])["z"].startswith(value.partition(secret)[0])
        body = max(secret.split("\n"), key=len)
        assert body not in safe


@pytest.mark.parametrize(("text", "secret"), NAMED.items())
def test_the_value_of_a_credential_is_found(text: str, secret: str) -> None:
    """A value is a secret by what its name says, and nothing else of the text is touched."""
    assert redacted(text) == text.replace(secret, mark(secret))


@pytest.mark.parametrize("text", INNOCENT)
def test_what_is_no_secret_stays(text: str) -> None:
    """Hashes, paths, names, pictures and prose are left as they are."""
    assert redacted(text) == text


def test_secrets_are_counted_and_one_secret_has_one_mark() -> None:
    """The mark is the same wherever its secret is, so that a reader can tell two apart."""
    one, other = chance(30, 1), chance(30, 2)
    safe, count = Redactor().counted(f"{one} {other} {one}")
    assert count == 3
    assert safe == f"{mark(one)} {mark(other)} {mark(one)}"


def test_known_secrets_are_found_by_their_text() -> None:
    """Also within a longer word, and as they are written in JSON and in an address."""
    redact = Redactor(["correct horse", 'a"b\\c/d', "tiny"])
    assert redact("xcorrect horsey") == f"x{mark('correct horse')}y"
    assert redact("?p=correct%20horse") == f"?p={mark('correct%20horse')}"
    safe = redact(json.dumps({"p": 'a"b\\c/d'}))
    assert json.loads(safe) == {"p": mark('a\\"b\\\\c/d')}
    assert redact("tiny") == "tiny"


FRAGMENTS = st.sampled_from(
    [
        *(
            "token",
            "password",
            "API_KEY",
            "secret",
            "x-api-key",
            "Authorization",
            "Bearer",
            "Basic",
        ),
        *(
            "=",
            ":",
            " ",
            '"',
            "'",
            "\\",
            "\n",
            "\\n",
            '\\"',
            ",",
            "{",
            "}",
            "[",
            "]",
            "/",
            "+",
            ".",
        ),
        *("-", "_", "@", "//", "--", "://", "&", "=>", ":=", "==", "$", "u", "n", "\\u00e9", "é"),
        *("hunter2", "Abc123x", "required", "[secret 0123abcd]", "secret 0123abcd", "sk-", "eyJ"),
        *("123456789", "-1.5e10", "data:a/b;base64,", "sha256-", "ghp_", "AKIA", "://u:"),
        *(chance(8, 3), chance(19, 4), chance(20, 5), chance(20, 9), chance(39, 6), chance(40, 7)),
        chance(40, 8, B64 + "/+"),
        "AKIAIOSFODNN7EXAMPLE",
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", chance(64, 10)),
    ]
)
TEXTS = st.lists(FRAGMENTS, max_size=24).map("".join) | st.text(max_size=80)


@given(TEXTS)
@settings(max_examples=600, deadline=None)
@example("password=ab12cd34==" + chance(40, 8, B64 + "/+"))
@example(f"-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----{chance(20, 5)}")
@example("Authorization: Negotiate abcdefgh1")
@example(f"MySecretApiKey2024Prod{chance(20)}=hunter2")
def test_twice_is_once(text: str) -> None:
    """A text without secrets has none, whatever it was made of."""
    once = redacted(text)
    assert redacted(once) == once
    known = Redactor(["hunter2", "Abc123x", "secret 0123"])
    safe = known(text)
    assert known(safe) == safe
    assert "hunter2" not in safe


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES, st.booleans())
@settings(max_examples=300, deadline=None)
@example(["a token=", "     12345678,      "], True)
@example({"token": 12345678901234567890, "password": -1.5e300}, True)
def test_json_stays_json(value: object, ascii_only: bool) -> None:  # noqa: FBT001
    """What is taken out of a JSON text never ends a string, and never cuts an escape."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    json.loads(redacted(text))
    json.loads(redacted(json.dumps(text)))


HOSTILE = [
    *("a", "token:", 'token:"', "-----BEGIN RSA PRIVATE KEY-----", "token   ", chance(19) + " "),
    *(
        "eyJaaaaaaaaa.",
        "\\",
        "\\n",
        "token=\\\\\\\\",
        "//a:b",
        "://a:b",
        "data:a;",
        "-",
        "=",
        "--token ",
    ),
    *(
        "a/" * 19 + "aB ",
        "token = ",
        "token\\\\\\\\",
        "token" + " " * 1000,
        "://" + "u" * 60,
        "\n",
        "sha1-=",
    ),
    *("sk-", "data:a/b;base64,", "authorization: bearer ", "a1B", "password='", "ghp_", "\\u0041"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_texts_take_no_more_time_than_others(piece: str) -> None:
    """A tenth of a megabyte of what a bad pattern would look at again and again."""
    text = piece * (100_000 // len(piece))
    once = redacted(text)
    assert redacted(once[:5000]) == once[:5000] or "[" in once


UNSURE = ("aws secret", "no shape", "base64url")


@pytest.mark.parametrize(
    "text",
    [
        *(text for name, text in SHAPES.items() if name not in UNSURE),
        "postgres://bob:s3cr3t@host/db",
    ],
)
def test_a_key_beyond_doubt_is_one_in_a_name_too(text: str) -> None:
    """By its shape alone, wherever it stands."""
    assert holds_key(f"models/{text}")


@pytest.mark.parametrize("name", [*INNOCENT, "Meta-Llama-3-8B-Instruct-Q4_K_M", chance(40)])
def test_a_name_that_looks_like_chance_is_no_key(name: str) -> None:
    """Models and folders have names of words and numbers in a row."""
    assert not holds_key(name)
