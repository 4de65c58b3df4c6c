"""Files that are open. Cases of files.py."""

import os
import tempfile

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


def nameless(directory: str = ".", flags: int = os.O_RDWR, mode: int = 0o600) -> int:
    return os.open(directory, flags | os.O_TMPFILE, mode)


def give_name(descriptor: int, name: str) -> None:
    libc("linkat", -100, f"/proc/self/fd/{descriptor}".encode(), -100, name.encode(), 0x400)  # AT_SYMLINK_FOLLOW


def nameless_temporary_file() -> None:
    """As on a disk, open(2) with O_TMPFILE."""
    before = os.umask(0o027)
    descriptor = nameless(mode=0o666)
    os.umask(before)
    status = os.fstat(descriptor)
    assert (status.st_nlink, status.st_size, status.st_mode) == (0, 0, 0o100640), status
    assert os.listdir(".") == []
    assert os.write(descriptor, b"x" * 5000) == 5000
    assert os.pread(descriptor, 3, 4998) == b"xx"
    os.fsync(descriptor)
    os.fchmod(descriptor, 0o604)
    give_name(descriptor, "named")
    assert os.listdir(".") == ["named"]
    status = os.stat("named")
    assert (status.st_nlink, status.st_size, status.st_mode, status.st_ino) == (
        1, 5000, 0o100604, os.fstat(descriptor).st_ino,
    ), status  # fmt: skip
    # It is a file as any other from then on.
    raises("EEXIST", give_name, descriptor, "named")
    give_name(descriptor, "second")
    assert os.stat("named").st_nlink == 2
    os.write(descriptor, b"y")
    os.close(descriptor)
    assert get("second") == b"x" * 5000 + b"y"
    os.rename("named", "third")
    os.unlink("second")
    assert get("third") == b"x" * 5000 + b"y"
    os.unlink("third")
    # An unlinked file gets no name again, nor does one that was made to have none.
    descriptor = os.open("lost", os.O_RDWR | os.O_CREAT)
    os.unlink("lost")
    raises("ENOENT", give_name, descriptor, "again")
    os.close(descriptor)
    descriptor = nameless(".", os.O_RDWR | os.O_EXCL)
    raises("ENOENT", give_name, descriptor, "again")
    os.close(descriptor)
    raises("EINVAL", nameless, ".", os.O_RDONLY)
    raises("ENOENT", nameless, "none")
    put("file", b"")
    raises("ENOTDIR", nameless, "file")
    os.unlink("file")
    assert os.listdir(".") == []


def nameless_files_of_programs() -> None:
    """Many at once, with names given over and over, by several processes."""
    os.mkdir("d")
    os.chmod("d", 0o2770)
    children = []
    for child in range(4):
        if not (process := os.fork()):
            for count in range(50):
                descriptor = nameless("d")
                os.write(descriptor, f"{child} {count}".encode() * 100)
                if count % 2:
                    give_name(descriptor, f"d/{child} {count}")
                elif count % 4 == 0:
                    os.ftruncate(descriptor, 0)
                os.close(descriptor)
            os._exit(0)
        children.append(process)
    for process in children:
        assert os.waitpid(process, 0)[1] == 0
    expected = sorted(f"{child} {count}" for child in range(4) for count in range(1, 50, 2))
    assert sorted(os.listdir("d")) == expected
    for name in expected:
        assert get(f"d/{name}") == name.encode() * 100, name
    # A file whose name another one has by now.
    descriptor = nameless("d")
    os.mkdir("d/e")
    raises("EEXIST", give_name, descriptor, "d/e")
    give_name(descriptor, "d/e/f")
    os.rename("d/e/f", "f")
    os.close(descriptor)
    with tempfile.TemporaryFile(dir=".") as file:
        file.write(b"z")
        file.flush()
        assert os.fstat(file.fileno()).st_nlink == 0


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
