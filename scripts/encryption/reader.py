"""Copies every file of a directory, and prints as JSON which it has read and which it could not.

reader.py DIRECTORY COPY          the copies have numbers as their names
reader.py DIRECTORY COPY PREFIX   without what begins so at the top
"""

import json
import os
import shutil
import sys


def main() -> None:
    directory, copy, *prefixes = sys.argv[1:]
    shutil.rmtree(copy, ignore_errors=True)
    os.makedirs(copy)
    files: dict[str, int] = {}
    errors: dict[str, str] = {}

    def note(problem: OSError) -> None:
        errors[os.path.relpath(problem.filename, directory)] = problem.strerror or str(problem)

    for parent, directories, names in os.walk(directory, onerror=note):
        if parent == directory and prefixes:
            directories[:] = [name for name in directories if not name.startswith(prefixes[0])]
            names = [name for name in names if not name.startswith(prefixes[0])]
        for name in names:
            place = os.path.join(parent, name)
            path = os.path.relpath(place, directory)
            try:
                with open(place, "rb") as file:
                    data = file.read()
            except OSError as problem:
                errors[path] = problem.strerror or str(problem)
                continue
            with open(os.path.join(copy, str(len(files))), "wb") as target:
                target.write(data)
            files[path] = len(files)
    print(json.dumps({"files": files, "errors": errors}))


if __name__ == "__main__":
    main()
