"""Four processes write to one SQLite database: python3 databases.py delete|wal DIRECTORY

Fails unless every transaction is in the database exactly once and the integrity check passes.
"""

import os
import sqlite3
import sys
import time

PROCESSES = 4
TRANSACTIONS = 100
BUSY_SECONDS = 60


def connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    connection.execute("pragma synchronous = normal")
    return connection


def work(path: str, writer: int) -> None:
    connection = connect(path)
    for number in range(TRANSACTIONS):
        connection.execute("begin immediate")
        connection.execute("insert into rows values (?, ?, randomblob(3000))", (writer, number))
        connection.execute("update total set value = value + 1")
        connection.execute("commit")
    connection.close()


def main() -> None:
    mode, directory = sys.argv[1], sys.argv[2]
    path = os.path.join(directory, f"{mode}.sqlite")
    connection = connect(path)
    got = connection.execute(f"pragma journal_mode = {mode}").fetchone()[0]
    assert got == mode, f"journal mode is {got}"
    connection.executescript(
        "create table rows (writer, number, data, primary key (writer, number));"
        "create table total (value);"
        "insert into total values (0);"
    )
    connection.close()
    start = time.monotonic()
    children = []
    for writer in range(PROCESSES):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                work(path, writer)
                status = 0
            finally:
                os._exit(status)
        children.append(pid)
    for pid in children:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "a writer failed"
    took = time.monotonic() - start
    connection = connect(path)
    assert connection.execute("pragma integrity_check").fetchone()[0] == "ok"
    count = connection.execute("select count(*) from rows").fetchone()[0]
    total = connection.execute("select value from total").fetchone()[0]
    assert count == total == PROCESSES * TRANSACTIONS, (count, total)
    print(f"{count} transactions of {PROCESSES} writers in {took:.1f} s")


main()
