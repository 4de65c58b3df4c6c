import Glibc
package import Model

/// How a container is mounted.
package struct MountOptions: Sendable {
    /// Whether other users may access the mount (`allow_other`). Default: whether the caller is root.
    package var allowsOtherUsers: Bool
    /// Whether a non-empty directory may be covered (`nonempty`). Default: no.
    package var allowsNonEmpty: Bool
    /// Whether the kernel refuses every change (`ro`). Default: no.
    package var isReadOnly: Bool
    /// Disabled fast paths. Default: none.
    package var off: Set<FastPath>
    /// Options passed to mount(8) unchanged, for example `nosuid` or `noexec`. Default: none.
    package var systemOptions: [String]

    package init(
        allowsOtherUsers: Bool = geteuid() == 0, allowsNonEmpty: Bool = false, isReadOnly: Bool = false,
        off: Set<FastPath> = [], systemOptions: [String] = []
    ) {
        self.allowsOtherUsers = allowsOtherUsers
        self.allowsNonEmpty = allowsNonEmpty
        self.isReadOnly = isReadOnly
        self.off = off
        self.systemOptions = systemOptions
    }

    /// The value of `-o`. The kernel always checks permissions itself, based on the attributes it is given.
    var argument: String {
        var options = ["default_permissions", "fsname=dewpoint", "subtype=dewpoint"]
        if allowsOtherUsers { options.append("allow_other") }
        if isReadOnly { options.append("ro") }
        return (options + systemOptions).joined(separator: ",")
    }
}
