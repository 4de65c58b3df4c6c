#!/usr/bin/env python3
"""Types passphrases at a terminal: typing_passphrases.py BINARY URL MOUNTPOINT STATE PASSPHRASE DIRECTORY

Prints `ok`, or what was seen instead of what was expected.
"""

import os
import pty
import re
import select
import signal
import sys
import termios
import time

SECONDS_PER_COMMAND = 30


def converse(arguments: list[str], answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Runs a command at a terminal of its own; whenever it shows the first text of a pair, types the second."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(arguments[0], arguments)
    shown, waiting = "", list(answers)
    end = time.monotonic() + SECONDS_PER_COMMAND
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece.decode()
        if waiting and waiting[0][0] in shown.rpartition("\n")[2]:
            # Whatever is typed before the terminal's echo is off would be shown.
            time.sleep(0.2)
            os.write(terminal, waiting.pop(0)[1].encode(errors="surrogateescape"))
    else:
        os.kill(child, 9)
        sys.exit(f"{arguments[1:3]} did not end; it had shown: {shown!r}")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown


def echoes_after(arguments: list[str], question: str, number: int) -> bool:
    """Whether a terminal shows what is typed when a signal has ended a command that asked there."""
    master, terminal = pty.openpty()
    child = os.fork()
    if child == 0:
        os.login_tty(terminal)
        os.execv(arguments[0], arguments)
    shown, end = "", time.monotonic() + SECONDS_PER_COMMAND
    while question not in shown and time.monotonic() < end:
        shown += os.read(master, 4096).decode()
    time.sleep(0.2)
    expect(not termios.tcgetattr(terminal)[3] & termios.ECHO, "the question is asked with echo")
    os.kill(child, number)
    expect(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -number, number)
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)


def expect(condition: bool, what: object) -> None:
    if not condition:
        sys.exit(f"unexpected: {what!r}")


def main() -> None:
    binary, url, mountpoint, state, passphrase, directory = sys.argv[1:]
    mount = [binary, "mount", url, mountpoint, "--state", state]
    question = f"Passphrase or recovery code of {url}: "
    status, shown = converse(mount, [(question, "wrong one here\n")])
    expect(status == 77 and "wrong one" not in shown, (status, shown))
    status, shown = converse(mount, [(question, "\n")])
    expect(status == 64, (status, shown))
    status, shown = converse(mount, [(question, "ab\x03c\n")])
    expect(status == 77 and "cancelled" in shown, (status, shown))
    # Bytes that are not UTF-8.
    status, shown = converse(mount, [(question, "ab\udcff\udcfe correct\n")])
    expect(status == 64 and "what was entered is not UTF-8" in shown, (status, shown))
    for number in signal.SIGTERM, signal.SIGHUP:
        expect(echoes_after(mount, question, number), f"no echo after {number}")
    status, shown = converse(mount, [(question, passphrase + "\n")])
    expect(status == 0 and passphrase not in shown, (status, shown))

    other = f"file://{directory}/typed"
    create = [binary, "container", "create", other, "--id", "iCloud.org.dewpoint.Typed", "--encrypt"]
    new = [("New passphrase: ", "typed passphrase\n"), ("The same again: ", "typed passphrasf\n")]
    status, shown = converse(create, new)
    expect(status == 64 and "differ" in shown and not os.path.exists(f"{directory}/typed/container.json"), shown)
    new[1] = ("The same again: ", "typed passphrase\n")
    status, shown = converse(create, new)
    expect(status == 0 and "typed passphrase" not in shown, (status, shown))
    code = re.search(r"(?:[0-9A-Z]{4}-){13}[0-9A-Z]{4}", shown)
    if code is None:
        sys.exit(f"no recovery code: {shown!r}")
    listing = [binary, "key", "list", other]
    os.rename(os.environ["XDG_STATE_HOME"] + "/dewpoint", os.environ["XDG_STATE_HOME"] + "/away")
    question = f"Passphrase or recovery code of {other}: "
    status, shown = converse(listing, [(question, code[0].lower().replace("-", " ") + "\n")])
    expect(status == 0 and "recovery code" in shown, (status, shown))
    print("ok")


main()
