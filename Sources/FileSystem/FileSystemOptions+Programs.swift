extension FileSystemOptions {
    /// Programs that read files because they are there, and not because somebody wants them: indexers and thumbnailers.
    ///
    /// Names as ``nonDownloadingPrograms`` takes them. Not among them, since a person starts them for what they read: backup programs,
    /// virus scanners such as `clamscan`, media servers, and `grep`.
    package static let indexersAndThumbnailers = indexers + thumbnailers

    private static let indexers = [
        "updatedb", "updatedb.plocate", "updatedb.mlocate", "updatedb.findutils",
        "tracker-miner-fs-3", "tracker-miner-fs", "tracker-extract-3", "tracker-extract",
        "localsearch-3", "localsearch-extractor-3",
        "baloo_file", "baloo_file_extractor",
        "recollindex",
    ]

    private static let thumbnailers = [
        "tumblerd", "ffmpegthumbnailer", "totem-video-thumbnailer", "gdk-pixbuf-thumbnailer", "glycin-thumbnailer",
        "evince-thumbnailer", "papers-thumbnailer", "atril-thumbnailer", "xreader-thumbnailer", "gnome-thumbnail-font",
        "mate-thumbnail-font", "gsf-office-thumbnailer", "heif-thumbnailer", "raw-thumbnailer",
        // One program for everything that KDE's programs reach by name; only the worker for previews is meant.
        "kioworker/thumbnail.so", "kioslave5/thumbnail.so",
    ]
}
