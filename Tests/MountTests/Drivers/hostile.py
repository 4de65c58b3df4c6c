"""Appends a commit with a hostile record: python3 hostile.py CASE CONTAINER"""

import gzip
import hashlib
import json
import os
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any


def record(**changes: Any) -> dict[str, Any]:
    base = {
        "base": 0,
        "content": {"runs": []},
        "device": DEVICE,
        "id": str(uuid.uuid4()),
        "kind": "file",
        "mode": 0o644,
        "modified": time.time_ns(),
        "name": "hostile",
        "parent": "00000000-0000-0000-0000-000000000000",
        "size": 0,
        "xattrs": {},
    }
    return base | changes


def cycle() -> list[dict[str, Any]]:
    one, two = str(uuid.uuid4()), str(uuid.uuid4())
    folder = {"kind": "directory", "content": None, "mode": 0o755}
    return [
        record(id=one, parent=two, name="hostile-one", **folder),
        record(id=two, parent=one, name="hostile-two", **folder),
    ]


def deep() -> list[dict[str, Any]]:
    """5,000 directories, each in the one before, with the longest names, and a file in the last: 1.3 MB of path."""
    records, parent = [], "00000000-0000-0000-0000-000000000000"
    for number in range(5000):
        name = f"hostile-{number:04}-".ljust(255, "n")
        records.append(record(kind="directory", content=None, mode=0o755, name=name, parent=parent))
        parent = records[-1]["id"]
    return [*records, record(name="hostile-last", parent=parent)]


def fragmented(size: int, *, is_one_of_many: bool = False) -> list[dict[str, Any]]:
    """A file of which every chunk is a run of its own: 264 MB of chunk list in some hundred KiB."""
    run = {"chunks": [chunk(1 << 20)], "offset": 0, "pack": str(uuid.uuid4())}
    text = b",".join([json.dumps(run, separators=(",", ":")).encode()] * FRAGMENTS)
    text = b'{"runs":[' + text + b"]}"
    name = hashlib.sha256(text).hexdigest()
    directory = os.path.join(sys.argv[2], "manifests")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, name), "wb") as file:
        file.write(gzip.compress(text, 1, mtime=0))
    file_name = f"hostile-{name}" if is_one_of_many else "hostile-fragmented"
    return [record(name=file_name, size=size, content={"manifest": name})]


def tombstones(log: str) -> list[dict[str, Any]]:
    """Deletes what this program added with the last commit of its own."""
    last = max(int(name) for name in os.listdir(log))
    for number in range(last, 0, -1):
        with open(os.path.join(log, f"{number:020}"), "rb") as file:
            commit = json.loads(gzip.decompress(file.read()))
        if commit["deviceName"] == "hostile":
            return [{"id": record["id"], "base": number} for record in commit["records"]]
    raise SystemExit("there is nothing to delete")


def chunk(size: int) -> dict[str, Any]:
    return {"hash": "0" * 64, "byteCount": size}


def stored(offset: int, *sizes: int) -> dict[str, Any]:
    return {"runs": [{"pack": str(uuid.uuid4()), "offset": offset, "chunks": [chunk(size) for size in sizes]}]}


DEVICE = str(uuid.uuid4())
FRAGMENTS = 1_600_000
CASES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "leads out": lambda: [record(name="../hostile")],
    "is a path": lambda: [record(name="folder/hostile")],
    "is absolute": lambda: [record(name="/tmp/hostile")],
    "is empty": lambda: [record(name="")],
    "is the parent": lambda: [record(name="..")],
    "is the directory itself": lambda: [record(name=".")],
    "has a NUL": lambda: [record(name="host\0ile")],
    "is too long": lambda: [record(name="h" * 256)],
    "cycle": cycle,
    "parent that is a file": lambda: [record(id=DEVICE, name="hostile"), record(parent=DEVICE, name="inner")],
    "parent that is missing": lambda: [record(parent=str(uuid.uuid4()))],
    "itself as parent": lambda: [record(id=DEVICE, parent=DEVICE)],
    "deep": deep,
    "deep, deleted": list,
    "fragmented": lambda: fragmented(FRAGMENTS << 20),
    "many fragmented": lambda: [
        record for _ in range(4) for record in fragmented(FRAGMENTS << 20, is_one_of_many=True)
    ],
    "fragmented beyond its size": lambda: fragmented(10 << 20),
    "negative size": lambda: [record(size=-1)],
    "sizes that do not add up": lambda: [record(size=1000, content=stored(0, 10))],
    "negative chunk": lambda: [record(size=-5, content=stored(0, -5))],
    "negative offset": lambda: [record(size=10, content=stored(-1, 10))],
    "huge hole": lambda: [record(size=10, content={"runs": [{"zeros": 1 << 62}, {"zeros": 1 << 62}]})],
    "no kind": lambda: [record(kind="comet")],
    "root": lambda: [record(id="00000000-0000-0000-0000-000000000000", kind="file")],
}


def main() -> None:
    case, container = sys.argv[1], sys.argv[2]
    log = os.path.join(container, "log")
    last = max(int(name) for name in os.listdir(log))
    commit = {
        "format": 1,
        "sequence": last + 1,
        "device": DEVICE,
        "deviceName": "hostile",
        "time": time.time_ns(),
        "nonce": str(uuid.uuid4()),
        "records": CASES[case](),
        "tombstones": tombstones(log) if case.endswith("deleted") else [],
    }
    path = os.path.join(container, "hostile")
    with open(path, "wb") as file:
        file.write(gzip.compress(json.dumps(commit).encode()))
    os.rename(path, os.path.join(log, f"{last + 1:020}"))


main()
