"""`dewpoint-desktop`: the agent of a session, the helper of file managers, and windows."""

import os
import sys

if not __package__:
    # Started as a directory: the package is where it lies.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

USAGE = """`dewpoint-desktop`: the agent of a session, the helper of file managers, and windows.

    dewpoint-desktop                    notifications, thumbnails and previews, until the session ends
    dewpoint-desktop states             the helper of a file manager; see helper
    dewpoint-desktop versions FILE      a window with the versions of a file
    dewpoint-desktop notify TEXT        shows a notification
"""
USAGE_STATUS = 64


def main(words: list[str]) -> int:
    match words:
        case []:
            from dewpoint_desktop import session

            return session.main()
        case ["states"]:
            from dewpoint_desktop import helper

            helper.main()
            return 0
        case ["versions", path]:
            from dewpoint_desktop import windows

            return windows.main(path)
        case ["notify", text]:
            from dewpoint_desktop import session

            return session.notify_once(text)
        case ["--help" | "-h"]:
            print(USAGE)
            return 0
    print(USAGE, file=sys.stderr)
    return USAGE_STATUS


sys.exit(main(sys.argv[1:]))
