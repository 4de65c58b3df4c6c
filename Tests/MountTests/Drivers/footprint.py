"""Runs a program that must end by itself and take little memory: python3 footprint.py SECONDS MEBIBYTES PROGRAM..."""

import os
import subprocess
import sys
import threading


def main() -> None:
    limit, most, command = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    child = subprocess.Popen(command)
    timer = threading.Timer(limit, child.kill)
    timer.start()
    _, status, usage = os.wait4(child.pid, 0)
    timer.cancel()
    # Linux counts in KiB.
    peak = usage.ru_maxrss >> 10
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(command)}: {os.waitstatus_to_exitcode(status)}, after at most {limit:g} s")
    if peak >= most:
        raise SystemExit(f"{' '.join(command)}: {peak} MiB of memory at its peak")


main()
