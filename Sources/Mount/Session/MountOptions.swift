import Glibc
package import Model

/// How a container is mounted.
package struct MountOptions: Hashable, Sendable {
    /// Whether other users may access the mount (`allow_other`): by default if the caller is root.
    package var allowsOtherUsers = geteuid() == 0
    /// Whether a non-empty directory may be covered (`nonempty`).
    package var allowsNonEmpty = false
    /// Whether the kernel refuses every change (`ro`).
    package var isReadOnly = false
    /// Disabled fast paths.
    package var off: Set<FastPath> = []
    /// Options passed to mount(8) unchanged, for example `nosuid` or `noexec`.
    package var systemOptions: [String] = []

    package init() {}

    /// The value of `-o`. The kernel always checks permissions itself, based on the attributes it is given.
    var argument: String {
        var options = ["default_permissions", "fsname=dewpoint", "subtype=dewpoint"]
        if allowsOtherUsers { options.append("allow_other") }
        if isReadOnly { options.append("ro") }
        return (options + systemOptions).joined(separator: ",")
    }
}
