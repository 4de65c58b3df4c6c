"""Reads and changes a bucket without Dewpoint, with nothing but Python's standard library.

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

import datetime
import hashlib
import hmac
import http.client
import json
import os
import sys
import urllib.parse
import xml.etree.ElementTree
from collections.abc import Callable, Iterator
from typing import Any

SECONDS = 30


def setting(name: str) -> str:
    return os.environ[name]


def request(method: str, place: str, body: bytes = b"", query: dict[str, str] | None = None) -> bytes:
    """Sends one signed request and returns the body of the response."""
    endpoint = urllib.parse.urlsplit(setting("AWS_ENDPOINT_URL"))
    path = "/" + urllib.parse.quote(place, safe="/-_.~")
    text = "&".join(
        f"{urllib.parse.quote(name, safe='-_.~')}={urllib.parse.quote(value, safe='-_.~')}"
        for name, value in sorted((query or {}).items())
    )
    time = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    names = "host;x-amz-content-sha256;x-amz-date"
    canonical = (
        f"{method}\n{path}\n{text}\nhost:{endpoint.netloc}\nx-amz-content-sha256:{digest}\nx-amz-date:{time}\n\n"
        f"{names}\n{digest}"
    )
    scope = f"{time[:8]}/{setting('AWS_REGION')}/s3/aws4_request"
    signed = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = b"AWS4" + setting("AWS_SECRET_ACCESS_KEY").encode()
    for part in [*scope.split("/"), signed]:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    connection = http.client.HTTPConnection(endpoint.netloc, timeout=SECONDS)
    try:
        connection.request(
            method,
            path + ("?" + text if text else ""),
            body,
            {
                "x-amz-content-sha256": digest,
                "x-amz-date": time,
                "Authorization": f"AWS4-HMAC-SHA256 Credential={setting('AWS_ACCESS_KEY_ID')}/{scope}, "
                f"SignedHeaders={names}, Signature={key.hex()}",
            },
        )
        answer = connection.getresponse()
        data = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {place}: {answer.status} {data.decode('utf-8', 'replace')}")
        return data
    finally:
        connection.close()


def keys(place: str) -> Iterator[str]:
    """Yields the keys below a prefix, without the prefix and its slash."""
    bucket, _, prefix = place.partition("/")
    prefix = prefix + "/" if prefix else ""
    query = {"list-type": "2", "prefix": prefix}
    while True:
        tree = xml.etree.ElementTree.fromstring(request("GET", bucket, query=query))
        space = tree.tag[: tree.tag.index("}") + 1] if tree.tag.startswith("{") else ""
        found = [element.text or "" for element in tree.iter(space + "Key")]
        yield from (key[len(prefix) :] for key in found)
        if tree.findtext(space + "IsTruncated") != "true":
            return
        query["start-after"] = found[-1]


def list_keys(place: str) -> None:
    print("\n".join(keys(place)))


def get(place: str, path: str) -> None:
    with open(path, "wb") as file:
        file.write(request("GET", place))


def put(path: str, place: str) -> None:
    with open(path, "rb") as file:
        request("PUT", place, file.read())


def delete(place: str) -> None:
    request("DELETE", place)


def empty(place: str) -> None:
    for key in list(keys(place)):
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


def admit(bucket: str, user: Any, *actions: str) -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": [f"arn:aws:iam:::user/{user}"]},
        "Action": [f"s3:{action}" for action in actions],
        "Resource": [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"],
    }
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    request("PUT", bucket, json.dumps(policy).encode(), query={"policy": ""})


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

VERBS[sys.argv[1]](*sys.argv[2:])
