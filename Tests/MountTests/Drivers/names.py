"""Names: links, renames, listings. Cases of files.py."""

import os

from system_calls import RENAME_EXCHANGE, RENAME_NOREPLACE, get, put, raises, renameat2


def hard_links() -> None:
    put("a", b"one")
    os.link("a", "b")
    first, second = os.stat("a"), os.stat("b")
    assert first.st_ino == second.st_ino and first.st_nlink == 2
    with open("b", "ab") as file:
        file.write(b" two")
    assert get("a") == b"one two"
    os.unlink("a")
    assert os.stat("b").st_nlink == 1 and get("b") == b"one two"
    os.mkdir("d")
    raises("EPERM", os.link, "d", "e")
    put("c")
    raises("EEXIST", os.link, "b", "c")
    os.link("b", "d/b")
    os.rename("b", "d/b")  # two names of one file: the rename does nothing
    assert os.path.exists("b") and os.path.exists("d/b")


def symbolic_links() -> None:
    os.symlink("nowhere", "dangling")
    assert os.readlink("dangling") == "nowhere"
    raises("ENOENT", os.stat, "dangling")
    assert os.lstat("dangling").st_size == len("nowhere")
    os.symlink("loop", "loop")
    raises("ELOOP", os.stat, "loop")
    target = "/" + "t" * 4000
    os.symlink(target, "long")
    assert os.readlink("long") == target
    os.symlink("../../../../etc/passwd", "outside")
    assert os.readlink("outside") == "../../../../etc/passwd"
    raises("EEXIST", os.symlink, "x", "long")
    raises("EINVAL", os.readlink, ".")


def rename_within_the_rules() -> None:
    os.makedirs("full/inner")
    os.mkdir("empty")
    os.mkdir("other")
    put("file", b"f")
    put("second", b"s")
    raises("ENOTEMPTY", os.rename, "empty", "full")
    raises("ENOTDIR", os.rename, "empty", "file")
    raises("EISDIR", os.rename, "file", "empty")
    raises("EINVAL", os.rename, "full", "full/inner/full")
    raises("ENOENT", os.rename, "none", "x")
    os.rename("other", "empty")
    os.rename("file", "file")
    os.rename("second", "file")
    assert get("file") == b"s" and sorted(os.listdir()) == ["empty", "file", "full"]


def rename_without_replacing() -> None:
    put("a", b"a")
    put("b", b"b")
    raises("EEXIST", renameat2, "a", "b", RENAME_NOREPLACE)
    assert get("a") == b"a" and get("b") == b"b"
    renameat2("a", "c", RENAME_NOREPLACE)
    assert get("c") == b"a"


def rename_exchanges() -> None:
    put("a", b"a")
    os.mkdir("d")
    put("d/x", b"x")
    renameat2("a", "d", RENAME_EXCHANGE)
    assert get("d") == b"a" and get("a/x") == b"x"
    raises("ENOENT", renameat2, "a", "none", RENAME_EXCHANGE)


def removing_names() -> None:
    os.makedirs("d/e")
    put("f")
    raises("ENOTEMPTY", os.rmdir, "d")
    raises("EISDIR", os.unlink, "d")
    raises("ENOTDIR", os.rmdir, "f")
    raises("ENOENT", os.unlink, "none")
    raises("EINVAL", os.rmdir, "d/.")
    os.removedirs("d/e")
    os.unlink("f")
    assert os.listdir() == []


def inode_numbers_stay() -> None:
    put("a", b"x")
    number = os.stat("a").st_ino
    os.rename("a", "b")
    assert os.stat("b").st_ino == number
    listed = {entry.name: entry.inode() for entry in os.scandir(".")}
    assert listed == {"b": number}, listed


def deep_directories() -> None:
    depth = 60
    for _ in range(depth):
        os.mkdir("level")
        os.chdir("level")
    put("f", b"deep")
    for _ in range(depth):
        os.chdir("..")
    assert get("level/" * depth + "f") == b"deep"


def listing_while_removing() -> None:
    count = 2000
    for n in range(count):
        put(f"file-{n:05}")
    seen = set()
    with os.scandir(".") as entries:
        for entry in entries:
            assert entry.name not in seen
            seen.add(entry.name)
            os.unlink(entry.name)
    assert len(seen) == count and os.listdir() == []


def names_that_differ_only_in_bytes() -> None:
    """Composed and decomposed letters, and upper and lower case, are different names, as on ext4."""
    names = [b"caf\xc3\xa9", b"cafe\xcc\x81", b"Cafe", b"cafe"]
    for name in names:
        put(name, name)
    assert sorted(os.listdir(b".")) == sorted(names)
    for name in names:
        assert get(name) == name
