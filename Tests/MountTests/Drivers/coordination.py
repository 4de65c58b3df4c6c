"""Coordinated access on a real mount, one case per behaviour:
python3 coordination.py CASE DIRECTORY [DEWPOINT [DIRECTORY_B]]

The rules are those of "Coordinated access" in the Semantics page, implemented here a second time.
"""

import sys

from claim_commands import Commands
from claims import Claims
from editors import Editors
from pitfalls import Pitfalls
from presenters import Presenters
from session import Ended, Session


class Cases(Claims, Commands, Presenters, Pitfalls, Editors):
    """All cases, by their names."""


def main() -> None:
    case, point = sys.argv[1:3]
    # Not all cases need these.
    dewpoint, other = (*sys.argv[3:5], "", "")[:2]
    try:
        getattr(Cases(point, dewpoint, other), case)()
    except Ended as error:
        raise SystemExit(f"{case}: a claim ended: {error.reason}, {error}") from error
    finally:
        Session.end_all()


if __name__ == "__main__":
    main()
