extension FileSystemOptions {
    /// Programs that read files only because they exist: indexers and thumbnailers.
    ///
    /// Names in the form of ``nonDownloadingPrograms``. Not included, since people start them in order to read: backup
    /// programs, virus scanners such as `clamscan`, media servers, and `grep`.
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
        // One program serves all of KDE's protocols; only its thumbnail worker is meant.
        "kioworker/thumbnail.so", "kioslave5/thumbnail.so",
        // File managers that make thumbnails themselves. libfm has a thread for it. Nemo does it when the thumbnailer
        // has failed, in the thread that also copies files.
        "pcmanfm#loader", "nemo#pool-nemo",
    ]
}
