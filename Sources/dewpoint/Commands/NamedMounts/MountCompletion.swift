import ArgumentParser
import Model
import NamedMounts

/// What a shell offers where a command takes a mount.
enum MountCompletion {
    /// The names of mounts. Anything else is typed, such as a URL.
    static let names = CompletionKind.custom { _, _, _ in namedMounts() }

    /// The mountpoints of what is mounted, and the names of mounts.
    static let mounted = CompletionKind.custom { _, _, _ in
        namedMounts() + MountTable.current().containers.map(\.mountpoint)
    }

    /// None where the file cannot be read: the command itself says why.
    private static func namedMounts() -> [String] {
        let document = try? MountsFile(.current()).read()
        return document?.mounts.map(\.name.description) ?? []
    }
}
