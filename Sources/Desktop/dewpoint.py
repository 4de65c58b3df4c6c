"""Shows the states of files in cloud containers. For Nautilus, Nemo and Thunar, which load it from a directory each."""

import os
import sys

for _place in (os.environ.get("DEWPOINT_DESKTOP_MODULES"), "/usr/share/dewpoint/desktop"):
    if _place and _place not in sys.path:
        sys.path.append(_place)

import gi

from dewpoint_desktop.extension import menu_provider, provider

if "nemo-python" in __file__:
    gi.require_version("Nemo", "3.0")
    from gi.repository import Nemo

    DewpointExtension = provider(Nemo)
elif "thunarx-python" in __file__:
    gi.require_version("Thunarx", "3.0")
    from gi.repository import Thunarx

    DewpointExtension = menu_provider(Thunarx)
else:
    # Of the version that the file manager has loaded.
    from gi.repository import Nautilus

    DewpointExtension = provider(Nautilus)
