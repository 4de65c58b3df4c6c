package import Model

/// Names that are not synced: temporary files that programs place beside their documents, and names with a marker.
package enum LocalOnlyNames {
    /// The default rule. A mount's own patterns come after these, so that `!lu*.tmp` syncs what one of them matches.
    ///
    /// Backup files (`NAME~`) are synced: a user may want them back. So is whatever else has such a name: a directory, a
    /// film `.movie.swf`.
    package static let patterns = IgnorePatterns([
        // The marker that a user gives.
        ("*.nosync*", .marked),
        // The view settings of macOS.
        (".DS_Store", .file),
        // Owner files of office programs, and lock and temporary files of LibreOffice.
        ("~$*", .short), (".~lock*#", .short), ("lu*.tmp", .brief),
        // The swap files of vim, as it counts them (`.swp`, `.swo`, …), and its probe.
        (".?*.sw[a-z]", .swap), ("4913", .probe),
        // The lock links of Emacs.
        (".#*", .link),
        // Files that a FUSE mount hides while they are open, or keep their place after they were removed.
        (".fuse_hidden*", .file),
    ])

    /// Whether an item of this name is among them.
    package static func standard(_ name: ItemName, _ sample: ItemSample) throws -> Bool {
        try patterns.ignores(name, sample)
    }
}

extension IgnorePatterns {
    /// Whether an item of this name at the root is ignored.
    package func ignores(_ name: ItemName, _ sample: ItemSample) throws -> Bool {
        try ignores(name: name.string.utf8, sample) { Array(name.string.utf8) }
    }
}
