"""The tree that every program starts with."""

import os

USER = 64998
PAST = 1_500_000_000 * 10**9
FILES = {"a": 100, "b": 70_000, "c": 0, "x": 300, "d/e": 5000, "d/x": 200_000, "w/f": 4096}
DIRECTORIES = {"d": 0o755, "d/g": 0o755, "w": 0o777}
LINKS = {"s": "a", "l": "d/e", "d/u": "../w/f", "z": "nowhere"}
HARD_LINK = ("d/e", "h")


def make(root: str) -> None:
    """Makes the tree in an empty directory."""
    os.umask(0o022)
    os.mkdir(root)
    os.chmod(root, 0o777)
    for path, mode in DIRECTORIES.items():
        os.mkdir(f"{root}/{path}")
        os.chmod(f"{root}/{path}", mode)
    for path, size in FILES.items():
        with open(f"{root}/{path}", "wb") as file:
            file.write(os.path.basename(path).encode() * size)
    os.chmod(f"{root}/x", 0o755)
    os.chmod(f"{root}/w/f", 0o666)
    os.setxattr(f"{root}/a", "user.one", b"first")
    os.link(f"{root}/{HARD_LINK[0]}", f"{root}/{HARD_LINK[1]}")
    for path, target in LINKS.items():
        os.symlink(target, f"{root}/{path}")
    # Times that no clock comes near, so that each later change shows.
    for path in [*FILES, *LINKS, *sorted(DIRECTORIES, reverse=True), "."]:
        os.utime(f"{root}/{path}", ns=(PAST, PAST), follow_symlinks=False)
