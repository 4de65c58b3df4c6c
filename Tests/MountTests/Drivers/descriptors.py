"""Opens as many files of the daemon as one may, which is not all: python3 descriptors.py DIRECTORY DAEMON DEWPOINT"""

import errno
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

LIMIT = 300


def code(call: Callable[..., object], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno or 0]


directory, daemon, dewpoint = sys.argv[1:4]
os.chdir(directory)
for number in range(2 * LIMIT):
    with open(f"{number}", "wb") as file:
        file.write(b"x")
# Uploads open files too, and a descriptor that an upload closes would be free for the next program.
subprocess.run([dewpoint, "sync", "--wait", directory], check=True, timeout=60)
resource.setrlimit(resource.RLIMIT_NOFILE, (4 * LIMIT, 4 * LIMIT))
subprocess.run(["prlimit", "--pid", daemon, f"--nofile={LIMIT}:{LIMIT}"], check=True)
opened = []
for number in range(2 * LIMIT):
    descriptor = code(os.open, f"{number}", os.O_RDONLY)
    if isinstance(descriptor, str):
        break
    opened.append(descriptor)
assert descriptor == "EMFILE", descriptor
assert len(opened) > 50, len(opened)
assert code(os.open, "new", os.O_WRONLY | os.O_CREAT) == "EMFILE"
assert not os.path.exists("new"), "the file whose creation was refused exists"
assert len(os.listdir(".")) == 2 * LIMIT
assert os.stat("7").st_size == 1
# Others are none the worse for it: of the same user, and of another one.
subprocess.run(["sh", "-c", "echo text > by-another && cat by-another > /dev/null && rm by-another"], check=True)
os.chmod(".", 0o777)
subprocess.run(
    ["setpriv", "--reuid=64999", "--clear-groups", "sh", "-c", "echo text > by-a-user && rm by-a-user"], check=True
)
# Nor if more programs of that user do the same, one after the other.
GREEDY = """
import os, sys, time
opened = []
try:
    for number in range(600):
        opened.append(os.open(str(599 - number), os.O_RDONLY))
except OSError as error:
    assert error.errno == 24, error
    print(len(opened), flush=True)
    time.sleep(60)
"""
greedy = []
for _ in range(4):
    process = subprocess.Popen([sys.executable, "-c", GREEDY], stdout=subprocess.PIPE)
    greedy.append(process)
    assert process.stdout and process.stdout.readline().strip(), "another program could open all files that are left"
subprocess.run(
    ["setpriv", "--reuid=64999", "--clear-groups", "sh", "-c", "echo text > by-a-user && rm by-a-user"], check=True
)
for process in greedy:
    process.kill()
    process.wait()
clients = [
    subprocess.Popen([dewpoint, "status", directory], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for _ in range(4)
]
for client in clients:
    errors = client.communicate(timeout=30)[1]
    assert client.returncode == 0, errors
for descriptor in opened:
    os.close(descriptor)
# The kernel reports a close a little later.
deadline = time.monotonic() + 10
while (answer := code(os.open, "new", os.O_WRONLY | os.O_CREAT)) == "EMFILE" and time.monotonic() < deadline:
    time.sleep(0.05)
assert isinstance(answer, int), answer
os.close(answer)
