"""What a desktop shows of mounted containers: states in file managers, thumbnails and notifications.

Everything is asked of the daemons over the control API, as the command line does. The modules, from the bottom up:

    mounts        which container a path belongs to, without accessing it
    control       the requests of the control API, on the Unix socket of a mount
    states        what an item's status means, in a word and an emblem
    following     the states of the directories that are shown, kept current by the events of their mounts
    actions       what a context menu offers for items, and carries out
    extension     the extension of Nautilus, Nemo and Thunar
    sandbox       where programs run that read files of unknown origin
    thumbnailers  the programs of the desktop that make a small picture of a file
    decoding      runs in the sandbox: the only module that decodes pictures
    previews      makes the previews of local files that other devices show
    making        makes what is missing of them on the mounts, with the lowest priority
    thumbnails    thumbnails that were refused while a picture was not local are made once it is
    cache         writes thumbnails into the cache of all file managers
    viewing       fetches the previews of directories that are shown, and writes them as thumbnails
    notices       which changes are worth a notification, and how often
    session       D-Bus, and the agent that runs in a session
    windows       the dialogs: versions of a file
"""
