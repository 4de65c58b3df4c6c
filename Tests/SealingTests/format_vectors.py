#!/usr/bin/env python3
"""Computes the test vectors of the page "The container format" anew, with Python and its package cryptography alone.

python3 format_vectors.py PAGE           compares them with the page, and says which differ
python3 format_vectors.py PAGE --print   prints the section's block with what is computed

It shares no code with Dewpoint nor with restore.py: what the page says must be enough to write it. The lines of the block
that are given, as keys and salts are, are read; all others are computed. FormatVectorTests does the same in Swift.
"""

import base64
import hashlib
import hmac
import sys
import textwrap
import unicodedata
import uuid
from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

HEADING = "### Test vectors"
# Of a name in the block; values follow, and lines with none continue the one before.
NAME_WIDTH = 30
LINE_WIDTH = 120
SEGMENT = 65_536

Page = dict[str, str]


def read(path: str) -> Page:
    with open(path, encoding="utf-8") as file:
        block = file.read().partition(f"\n{HEADING}\n")[2].partition("```\n")[2].partition("```\n")[0]
    vectors: Page = {}
    name = ""
    for line in block.splitlines():
        head, value = line[:NAME_WIDTH].strip(), line[NAME_WIDTH:].strip()
        if head:
            assert head not in vectors, head
            name, vectors[head] = head, value
        elif value:
            # A list is broken at its spaces, other values are within themselves.
            vectors[name] += f" {value}" if vectors[name].endswith((",", ":")) else value
    return vectors


# The primitives that the package does not have, or not in Debian's version.


def extract(salt: bytes, secret: bytes) -> bytes:
    return hmac.digest(salt, secret, "sha256")


def expand(key: bytes, info: bytes, count: int) -> bytes:
    data = block = b""
    while len(data) < count:
        block = hmac.digest(key, block + info + bytes([len(data) // 32 + 1]), "sha256")
        data += block
    return data[:count]


def hkdf(key: bytes, info: bytes, count: int, salt: bytes = b"") -> bytes:
    return expand(extract(salt, key), info, count)


def aes(key: bytes, block: bytes) -> bytes:
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    text: bytes = cipher.update(block) + cipher.finalize()
    return text


def polyval(key: bytes, data: bytes) -> bytes:
    """RFC 8452, section 3: in the field of 2^128 elements with x^128 + x^127 + x^126 + x^121 + 1."""

    def times(left: int, right: int) -> int:
        product = 0
        for bit in range(128):
            if left >> bit & 1:
                product ^= right << bit
        # Times x^-128: for each of the lowest bits, the polynomial is added to make it 0.
        for bit in range(128):
            if product >> bit & 1:
                product ^= (1 << 128 | 1 << 127 | 1 << 126 | 1 << 121 | 1) << bit
        return product >> 128

    factor, state = int.from_bytes(key, "little"), 0
    for start in range(0, len(data), 16):
        state = times(state ^ int.from_bytes(data[start : start + 16], "little"), factor)
    return state.to_bytes(16, "little")


def gcm_siv(key: bytes, nonce: bytes, data: bytes) -> bytes:
    """AES-256-GCM-SIV (RFC 8452) of whole blocks without associated data: the ciphertext and the tag."""
    derived = b"".join(aes(key, number.to_bytes(4, "little") + nonce)[:8] for number in range(6))
    authentication, encryption = derived[:16], derived[16:]
    lengths = bytes(8) + (8 * len(data)).to_bytes(8, "little")
    digest = bytearray(polyval(authentication, data + lengths))
    digest = bytearray(a ^ b for a, b in zip(digest, nonce + bytes(4)))
    digest[15] &= 0x7F
    tag = aes(encryption, bytes(digest))
    counter, text = int.from_bytes(tag[:4], "little"), b""
    for start in range(0, len(data), 16):
        block = ((counter + start // 16) % (1 << 32)).to_bytes(4, "little") + tag[4:15] + bytes([tag[15] | 0x80])
        text += bytes(a ^ b for a, b in zip(data[start : start + 16], aes(encryption, block)))
    return text + tag


def x25519(private: bytes) -> bytes:
    public: bytes = (
        X25519PrivateKey.from_private_bytes(private).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    )
    return public


def hpke(public: bytes, ephemeral: bytes, info: bytes, text: bytes) -> tuple[bytes, bytes]:
    """RFC 9180 in base mode: the encapsulated key, and the text with its tag."""
    kem, suite = b"HPKE-v1KEM\0\x20", b"HPKE-v1HPKE\0\x20\0\x01\0\x02"

    def labeled(name: bytes, key: bytes, label: bytes, context: bytes, count: int) -> bytes:
        return expand(key, count.to_bytes(2, "big") + name + label + context, count)

    def labeled_extract(name: bytes, salt: bytes, label: bytes, key: bytes) -> bytes:
        return extract(salt, name + label + key)

    shared = X25519PrivateKey.from_private_bytes(ephemeral).exchange(X25519PublicKey.from_public_bytes(public))
    encapsulated = x25519(ephemeral)
    secret = labeled(kem, labeled_extract(kem, b"", b"eae_prk", shared), b"shared_secret", encapsulated + public, 32)
    context = b"\0" + labeled_extract(suite, b"", b"psk_id_hash", b"") + labeled_extract(suite, b"", b"info_hash", info)
    secret = labeled_extract(suite, secret, b"secret", b"")
    key, nonce = labeled(suite, secret, b"key", context, 32), labeled(suite, secret, b"base_nonce", context, 12)
    return encapsulated, AESGCM(key).encrypt(nonce, text, b"")


# The format, as the page has it.


def padme(count: int) -> int:
    if count < 2:
        return count
    exponent = count.bit_length() - 1
    zeros = exponent - exponent.bit_length()
    return count if zeros < 1 else -(-count >> zeros) << zeros


def padded(key: str, count: int) -> int:
    return -(-count // 4096) * 4096 if key.startswith("log/") else padme(count)


def object_key(secret: bytes, salt: bytes, info: bytes) -> tuple[bytes, bytes]:
    derived = hkdf(secret, info, 64, salt)
    return derived[:32], derived[32:]


def segment(key: bytes, index: int, is_last: bool, text: bytes) -> bytes:
    sealed: bytes = AESGCM(key).encrypt(index.to_bytes(11, "big") + bytes([is_last]), text, b"")
    return sealed


def seal(keys: tuple[bytes, bytes], name: str, epoch: int, salt: bytes, data: bytes) -> tuple[bytes, list[bytes]]:
    """The header and the segments."""
    key, commitment = keys
    length = padded(name, len(data))
    lengths = AESGCM(key).encrypt(bytes(11) + b"\2", len(data).to_bytes(8, "big") + length.to_bytes(8, "big"), b"")
    text = data + bytes(length - len(data))
    starts = range(0, max(length, 1), SEGMENT)
    segments = [segment(key, start // SEGMENT, start == starts[-1], text[start : start + SEGMENT]) for start in starts]
    return b"DEWSEAL\2" + epoch.to_bytes(4, "big") + salt + commitment + lengths, segments


def crockford(data: bytes) -> str:
    bits = "".join(f"{byte:08b}" for byte in data + hashlib.sha256(data).digest()[:3])
    digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    return "".join(digits[int(bits[start : start + 5], 2)] for start in range(0, len(bits), 5))


def compute(page: Page) -> dict[str, bytes | str]:
    def given(name: str) -> bytes:
        return bytes.fromhex(page[name])

    def text(name: str) -> str:
        return page[name]

    container = uuid.UUID(page["container"]).bytes
    container_key, epoch_key, salt = given("container key"), given("key of epoch 1"), given("salt")

    def info(purpose: str) -> bytes:
        return f"dewpoint {purpose} v2".encode() + b"\0" + container

    found: dict[str, bytes | str] = {}

    # Names.
    found["naming key"] = naming_key = hkdf(container_key, info("names"), 32)
    directory, _, digits = text("a manifest").partition("/")
    found["its key in the store"] = f"{directory}/{gcm_siv(naming_key, bytes(12), bytes.fromhex(digits)).hex()}"

    # An object.
    key = text("an object's key")
    keys = object_key(epoch_key, salt, info("object") + key.encode())
    found["object key"], found["commitment"] = keys
    found["header"], segments = seal(keys, key, 1, salt, text("its bytes, in ASCII").encode())
    found["segment 0"] = segments[0]
    header, segments = seal(keys, key, 1, salt, b"a" * 65_537)
    found["SHA-256, of 65,537 a"] = hashlib.sha256(header + b"".join(segments)).digest()
    lengths = [0, 1, 5, 33, 1000, 65_537, 1_234_567, (1 << 40) + 1]
    found["padded lengths"] = ", ".join(f"{length}: {padme(length)}" for length in lengths)
    found["of commits"] = ", ".join(f"{length}: {padded('log/', length)}" for length in [*lengths[:2], 4096, 4097])

    # A commit.
    key, body = text("a commit's key"), text("its bytes").encode()
    signing = Ed25519PrivateKey.from_private_bytes(given("signer's key"))
    ring = int(page["keyring's number"]).to_bytes(8, "big") + given("keyring's SHA-256")
    before = uuid.UUID(page["signer"]).bytes + ring + given("predecessor")
    statement = b"dewpoint history v2\0" + container + before + hashlib.sha256(body).digest() + key.encode()
    found["signer's public key"] = signer = signing.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    found["signature"] = signature = signing.sign(statement)
    keys = object_key(epoch_key, salt, info("object") + key.encode())
    header, segments = seal(keys, key, 1, salt, b"DEWSIGN\2" + before + signature + body)
    found["SHA-256, sealed"] = hashlib.sha256(header + b"".join(segments)).digest()

    # The keyring.
    ring_text = text("keyring's text").encode()
    found["authentication key"] = authentication_key = hkdf(container_key, info("keyring"), 32)
    found["mac"] = hmac.digest(authentication_key, ring_text, "sha256")
    found["maker's signature"] = signing.sign(b"dewpoint keyring v2\0" + ring_text)
    ring_key, nonce = given("ring's key"), given("nonce")
    epochs = container_key + (1).to_bytes(4, "big") + epoch_key
    found["secrets"] = nonce + AESGCM(ring_key).encrypt(nonce, epochs, info("ring"))
    public = x25519(given("slot's private key"))
    found["slot's publicKey"] = public
    found["encapsulated"], found["slot's wrapped"] = hpke(public, given("ephemeral key"), info("slot"), ring_key)
    root = container_key + signer
    passphrase = unicodedata.normalize("NFC", text("passphrase")).encode()
    found["scrypt"] = wrapping = Scrypt(salt, 32, 1 << 17, 8, 1).derive(passphrase)
    private = given("slot's private key") + given("signer's key")
    sealed = AESGCM(wrapping).encrypt(nonce, root + private, info("passphrase"))
    found["passphrase's wrapped"] = sealed + nonce
    code = given("recovery code's bytes")
    found["recovery code"] = crockford(code)
    derived = hkdf(code, info("recovery"), 96)
    found["recovery's key"], found["recovery's private"] = derived[:32], derived[32:]
    found["recovery's wrapped"] = AESGCM(derived[:32]).encrypt(nonce, root, info("recovery")) + nonce

    # A share.
    share = uuid.UUID(page["share"])
    found["share key"] = share_key = hkdf(epoch_key, info("share key") + share.bytes, 32)
    keys = object_key(share_key, salt, b"dewpoint share v2")
    found["share's object key"], found["share's commitment"] = keys
    digits = base64.urlsafe_b64encode(share_key).rstrip(b"=").decode()
    found["link"] = (
        f"https://s3.example.com/notes/shares/{share}.html?v=1&sig=aa#2.{digits}.r%C3%A9sum%C3%A9.pdf?sig=bb"
    )
    return found


def shown(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.hex()


def lines(name: str, value: str) -> list[str]:
    width = LINE_WIDTH - NAME_WIDTH
    pieces = (
        textwrap.wrap(value, width) if " " in value else [value[i : i + width] for i in range(0, len(value), width)]
    )
    return [f"{head:{NAME_WIDTH}}{piece}" for head, piece in zip([name] + [""] * len(pieces), pieces)]


def main(path: str, then: Callable[[Page, dict[str, bytes | str]], int]) -> int:
    page = read(path)
    return then(page, compute(page))


def report(page: Page, found: dict[str, bytes | str]) -> int:
    differing = [name for name, value in found.items() if page.get(name) != shown(value)]
    for name in differing:
        print(f"{name}: the page has {page.get(name)}, and it is {shown(found[name])}")
    print(f"{len(found) - len(differing)} of {len(found)} vectors are as the page has them")
    return 1 if differing else 0


def print_block(page: Page, found: dict[str, bytes | str]) -> int:
    for name, value in {**page, **{name: shown(value) for name, value in found.items()}}.items():
        print("\n".join(lines(name, value)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], print_block if "--print" in sys.argv[2:] else report))
