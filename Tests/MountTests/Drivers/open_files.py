"""Files that are open. Cases of files.py."""

import errno
import os

from system_calls import get, libc, put, raises


def unlinked_open_file_lives_on() -> None:
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"before")
    os.unlink("f")
    raises("ENOENT", os.stat, "f")
    os.write(descriptor, b" after")
    assert os.pread(descriptor, 100, 0) == b"before after"
    assert os.fstat(descriptor).st_nlink == 0
    os.ftruncate(descriptor, 3)
    assert os.fstat(descriptor).st_size == 3
    put("f", b"new")
    assert os.pread(descriptor, 100, 0) == b"bef"
    os.close(descriptor)
    assert get("f") == b"new"


def open_handle_survives_rename() -> None:
    put("a", b"one")
    descriptor = os.open("a", os.O_RDWR)
    os.rename("a", "b")
    os.pwrite(descriptor, b"two", 0)
    assert get("b") == b"two"
    put("c", b"replacing")
    os.rename("c", "b")
    assert os.pread(descriptor, 100, 0) == b"two"
    assert get("b") == b"replacing"
    os.close(descriptor)


def open_directory_survives_rename() -> None:
    os.mkdir("d")
    put("d/f", b"x")
    directory = os.open("d", os.O_RDONLY | os.O_DIRECTORY)
    os.rename("d", "e")
    descriptor = os.open("f", os.O_RDONLY, dir_fd=directory)
    assert os.read(descriptor, 10) == b"x"
    os.close(descriptor)
    assert os.listdir(directory) == ["f"]
    os.close(directory)


def nameless_temporary_file() -> None:
    """O_TMPFILE works completely, or is refused with an errno for which programs have a fallback."""
    try:
        descriptor = os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600)
    except OSError as error:
        assert error.errno in (errno.EOPNOTSUPP, errno.EISDIR), error
        print("O_TMPFILE is refused with", errno.errorcode[error.errno])
        return
    os.write(descriptor, b"x")
    libc("linkat", -100, f"/proc/self/fd/{descriptor}".encode(), -100, b"named", 0x400)  # AT_SYMLINK_FOLLOW
    os.close(descriptor)
    assert get("named") == b"x"


def many_open_files() -> None:
    count = 500
    descriptors = [os.open(f"f{n}", os.O_RDWR | os.O_CREAT) for n in range(count)]
    for n, descriptor in enumerate(descriptors):
        os.write(descriptor, str(n).encode())
    for n, descriptor in enumerate(descriptors):
        assert os.pread(descriptor, 10, 0) == str(n).encode()
        os.close(descriptor)


def open_flags() -> None:
    put("f", b"12345")
    raises("EEXIST", os.open, "f", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    raises("ENOTDIR", os.open, "f", os.O_DIRECTORY)
    raises("ENOTDIR", os.open, "f/x", os.O_RDONLY)
    raises("EISDIR", os.open, ".", os.O_WRONLY)
    raises("ENOENT", os.open, "none", os.O_RDONLY)
    os.symlink("f", "l")
    raises("ELOOP", os.open, "l", os.O_NOFOLLOW)
    descriptor = os.open("f", os.O_RDONLY)
    raises("EBADF", os.write, descriptor, b"x")
    os.close(descriptor)
    descriptor = os.open("f", os.O_WRONLY | os.O_APPEND)
    raises("EBADF", os.read, descriptor, 1)
    os.write(descriptor, b"6")
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, b"7")
    os.close(descriptor)
    assert get("f") == b"1234567"
    os.close(os.open("f", os.O_WRONLY | os.O_TRUNC))
    assert os.stat("f").st_size == 0
