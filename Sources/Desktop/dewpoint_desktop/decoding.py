"""Decodes pictures, and nothing else: runs in the sandbox, without the other modules, as `python3 decoding.py WHAT`.

    jpeg BYTES PIXELS   one PNG comes in, and a JPEG of at most so many bytes and pixels a side goes out
    pixels PIXELS…      many JPEGs come in, each after its length; of each the pixels go out, once for each number of them
                        that a side may have

Numbers are four bytes, the highest first. Pixels have their width and height before them, three bytes each, and no gaps
between the rows; width and height are 0 for what cannot be decoded.
"""

import os
import struct
import sys
from typing import IO, Any

import gi

gi.require_version("GdkPixbuf", "2.0")
from gi.repository import GdkPixbuf, GLib

# A thumbnail that a program made, and a preview of another device: both promise 256.
SOURCE_PIXELS = 2048
# The lengths of a message.
NUMBER_BYTES = 4
# First lower quality, then fewer pixels.
QUALITIES = (85, 75, 65, 55, 45, 35)
SMALLER = 0.75
LEAST_PIXELS = 48
MOST_INPUT_BYTES = 32 << 20


def decoded(data: bytes, kind: str) -> Any:
    """The picture in `data`, of the kind named `kind`; None for what is none, or has too many pixels."""
    loader = GdkPixbuf.PixbufLoader.new_with_type(kind)
    sizes: list[tuple[int, int]] = []
    loader.connect("size-prepared", lambda _, width, height: sizes.append((width, height)))
    try:
        # In pieces: the size comes before the pixels, for which there would have to be room.
        for start in range(0, len(data), 1024):
            loader.write(data[start : start + 1024])
            if any(max(size) > SOURCE_PIXELS for size in sizes):
                break
        is_whole = not any(max(size) > SOURCE_PIXELS for size in sizes)
        loader.close()
    except GLib.Error:
        return None
    return loader.get_pixbuf() if is_whole else None


def scaled(picture: Any, pixels: int) -> Any:
    """At most so many pixels a side, never larger than it is, on white where it is transparent."""
    width, height = picture.get_width(), picture.get_height()
    factor = min(1.0, pixels / max(width, height))
    width, height = max(1, round(width * factor)), max(1, round(height * factor))
    if picture.get_has_alpha():
        return picture.composite_color_simple(width, height, GdkPixbuf.InterpType.BILINEAR, 255, 16, 0xFFFFFF, 0xFFFFFF)
    return picture.scale_simple(width, height, GdkPixbuf.InterpType.BILINEAR) if factor < 1 else picture


def jpeg(picture: Any, count: int, pixels: int) -> bytes | None:
    """A JPEG of at most `count` bytes."""
    while pixels >= LEAST_PIXELS:
        small = scaled(picture, pixels)
        for quality in QUALITIES:
            _, data = small.save_to_bufferv("jpeg", ["quality"], [str(quality)])
            if len(data) <= count:
                return bytes(data)
        pixels = int(min(pixels, max(small.get_width(), small.get_height())) * SMALLER)
    return None


def rows(picture: Any) -> bytes:
    """The pixels of a picture without alpha, without gaps."""
    data, stride = picture.read_pixel_bytes().get_data(), picture.get_rowstride()
    used = picture.get_width() * picture.get_n_channels()
    return b"".join(data[row * stride : row * stride + used] for row in range(picture.get_height()))


def answer_pixels(given: IO[bytes], answers: IO[bytes], sizes: list[int]) -> None:
    while len(head := given.read(NUMBER_BYTES)) == NUMBER_BYTES:
        (count,) = struct.unpack(">I", head)
        if count > MOST_INPUT_BYTES:
            return
        picture = decoded(given.read(count), "jpeg")
        is_colored = picture is not None and picture.get_n_channels() == 3
        for pixels in sizes:
            small = scaled(picture, pixels) if is_colored else None
            answers.write(struct.pack(">II", small.get_width(), small.get_height()) if small else bytes(8))
            answers.write(rows(small) if small else b"")
        answers.flush()


def main(words: list[str]) -> int:
    given, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What a library prints must not come between.
    os.dup2(2, 1)
    match words:
        case ["jpeg", count, pixels]:
            picture = decoded(given.read(MOST_INPUT_BYTES), "png")
            data = jpeg(picture, int(count), int(pixels)) if picture else None
            if not data:
                return 1
            answers.write(data)
        case ["pixels", *sizes]:
            answer_pixels(given, answers, [int(size) for size in sizes])
        case _:
            return 64
    answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
