package import Model

/// Names that are not synced: temporary files that programs place beside their documents, and names with a marker.
package enum LocalOnlyNames {
    /// The default rule. A mount's own patterns come after these, so that `!lu*.tmp` syncs what one of them matches.
    ///
    /// Backup files (`NAME~`) are synced: a user may want them back.
    package static let patterns = IgnorePatterns([
        // The marker that a user gives.
        "*.nosync*",
        // The view settings of macOS.
        ".DS_Store",
        // Owner files of office programs, and lock and temporary files of LibreOffice.
        "~$*", ".~lock*#", "lu*.tmp",
        // The swap files of vim, as it counts them (`.swp`, `.swo`, …), and its probe.
        ".?*.sw[a-z]", "4913",
        // The lock links of Emacs.
        ".#*",
        // Files that a FUSE mount hides while they are open, or keep their place after they were removed.
        ".fuse_hidden*",
    ])

    /// Whether a name is among them.
    package static func standard(_ name: ItemName) -> Bool { patterns.ignores(name) }
}

extension IgnorePatterns {
    /// Whether a file of this name at the root is ignored.
    package func ignores(_ name: ItemName) -> Bool {
        ignores(name: name.string.utf8, isDirectory: false) { Array(name.string.utf8) }
    }
}
