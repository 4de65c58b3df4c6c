"""The behaviour of a local file system, one case each: python3 files.py CASE DIRECTORY

Every case starts in an empty directory and passes on ext4 as on the mount, so `python3 files.py all /tmp/x` on a local
disk shows whether a case itself is correct. A failed case ends with a traceback.
"""

import faulthandler
import os
import signal
import sys

import advisory_locks
import attributes
import bytes_of_files
import directory_positions
import nameless_files
import names
import open_files
import special_files

MODULES = (
    open_files,
    names,
    attributes,
    bytes_of_files,
    advisory_locks,
    special_files,
    nameless_files,
    directory_positions,
)
CASES = {
    name: case
    for module in MODULES
    for name, case in vars(module).items()
    if callable(case) and not isinstance(case, type) and case.__module__ == module.__name__
}


def main() -> None:
    # A case that is ended because it takes too long prints its stack.
    faulthandler.register(signal.SIGTERM, chain=True)
    case, directory = sys.argv[1], sys.argv[2]
    for name in CASES if case == "all" else [case]:
        place = os.path.join(directory, name)
        os.makedirs(place)
        os.chdir(place)
        if case == "all":
            print(name, flush=True)
        CASES[name]()


if __name__ == "__main__":
    main()
