"""Reads and changes a bucket without Dewpoint, by the benchmark's client of S3.

    python3 bucket.py list BUCKET/PREFIX              prints the keys below a prefix in order, without the prefix
    python3 bucket.py get BUCKET/KEY FILE
    python3 bucket.py put FILE BUCKET/KEY             writes or overwrites an object
    python3 bucket.py delete BUCKET/KEY
    python3 bucket.py empty BUCKET/PREFIX             deletes all objects below a prefix
    python3 bucket.py fetch BUCKET/PREFIX DIRECTORY   copies all objects below a prefix into a directory
    python3 bucket.py store DIRECTORY BUCKET/PREFIX   copies a directory's files into a bucket
    python3 bucket.py admit BUCKET USER ACTION...     lets a user of the server do nothing but actions such as GetObject

Endpoint, region and keys come from the environment variables of AWS's tools.
"""

import json
import os
import sys
from collections.abc import Callable

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts"))

from benchmark.machine import Failure
from benchmark.store import Store


def keys(place: str) -> list[str]:
    """The keys below a prefix, without the prefix and its slash."""
    bucket, _, prefix = place.partition("/")
    prefix = prefix + "/" if prefix else ""
    return [key[len(prefix) :] for key in Store(os.environ).list(bucket, prefix)]


def list_keys(place: str) -> None:
    print("\n".join(keys(place)))


def get(place: str, path: str) -> None:
    bucket, _, key = place.partition("/")
    data = Store(os.environ).request("GET", bucket, key).read()
    with open(path, "wb") as file:
        file.write(data)


def put(path: str, place: str) -> None:
    bucket, _, key = place.partition("/")
    with open(path, "rb") as file:
        Store(os.environ).put(bucket, key, file.read())


def delete(place: str) -> None:
    bucket, _, key = place.partition("/")
    Store(os.environ).delete(bucket, key)


def empty(place: str) -> None:
    for key in keys(place):
        delete(f"{place}/{key}")


def fetch(place: str, directory: str) -> None:
    for key in keys(place):
        path = os.path.join(directory, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        get(f"{place}/{key}", path)


def store(directory: str, place: str) -> None:
    for folder, _, files in os.walk(directory):
        for name in files:
            path = os.path.join(folder, name)
            put(path, f"{place}/{os.path.relpath(path, directory)}")


def admit(bucket: str, user: str, *actions: str) -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": [f"arn:aws:iam:::user/{user}"]},
        "Action": [f"s3:{action}" for action in actions],
        "Resource": [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"],
    }
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    Store(os.environ).request("PUT", bucket, query={"policy": ""}, body=json.dumps(policy).encode()).read()


VERBS: dict[str, Callable[..., None]] = {
    "list": list_keys,
    "get": get,
    "put": put,
    "delete": delete,
    "empty": empty,
    "fetch": fetch,
    "store": store,
    "admit": admit,
}

try:
    VERBS[sys.argv[1]](*sys.argv[2:])
except Failure as problem:
    sys.exit(str(problem))
