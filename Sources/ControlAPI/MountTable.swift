import Foundation

/// The mounts of this process's namespace, as `/proc/self/mountinfo` lists them. Reading it touches no mount, so it
/// answers also when a mount hangs or its daemon is dead.
package struct MountTable: Sendable {
    package struct Entry: Hashable, Sendable {
        /// `major:minor`: the same for every place where one filesystem is seen.
        package var device: String
        /// What of the filesystem is seen here: `/`, or the directory that a bind mount shows.
        package var root: String
        package var mountpoint: String
        package var type: String
        package var source: String
        /// Who mounted a FUSE filesystem (`user_id=`).
        package var owner: UInt32?
        /// Whether others than the owner may enter a FUSE filesystem (`allow_other`).
        package var admitsOthers: Bool
    }

    /// In the order of mounting.
    package let entries: [Entry]

    /// The filesystem type under which the kernel lists our mounts.
    package static let type = "fuse.dewpoint"

    /// - Parameter text: The contents of `/proc/self/mountinfo`.
    package init(text: String) {
        entries = text.split(separator: "\n").compactMap { Self.entry(line: $0) }
    }

    /// The table as it is now.
    ///
    /// - Throws: What reading a file of `/proc` throws: only where there is no `/proc`.
    package static func current() throws -> MountTable {
        let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/mountinfo"))
        defer { try? file.close() }  // read-only: nothing can be lost
        return MountTable(text: String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self))
    }

    /// Our own mounts, each once: what a bind mount shows again is left out.
    package var containers: [Entry] { entries.filter { $0.type == Self.type && $0.root == "/" && isFirst($0) } }

    /// Finds the container that a path lies in.
    ///
    /// - Parameter path: Absolute, without `.`, `..` and symbolic links on the way to the mount.
    /// - Returns: The mount and the path below its root; `nil` when the path lies on another filesystem.
    package func container(of path: String) -> (mount: Entry, path: String)? {
        var found: (entry: Entry, rest: String)?
        for entry in entries {
            guard let rest = Self.rest(of: path, below: entry.mountpoint) else { continue }
            if let best = found, best.entry.mountpoint.utf8.count > entry.mountpoint.utf8.count { continue }
            found = (entry, rest)  // of two at one place the later one covers the earlier
        }
        guard let found, found.entry.type == Self.type else { return nil }
        guard let mount = entries.first(where: { $0.device == found.entry.device && $0.root == "/" }) else {
            return nil
        }
        let parts = [String(found.entry.root.dropFirst()), found.rest].filter { !$0.isEmpty }
        return (mount, parts.joined(separator: "/"))
    }

    private func isFirst(_ entry: Entry) -> Bool {
        entries.first { $0.device == entry.device && $0.root == "/" } == entry
    }

    /// What is left of `path` behind `directory`, or `nil` when it does not lie there. Bytes are compared, not
    /// characters: a `String` holds differently composed names for equal.
    private static func rest(of path: String, below directory: String) -> String? {
        let directory = directory.utf8.elementsEqual("/".utf8) ? [] : Array(directory.utf8)
        let path = Array(path.utf8)
        guard path.starts(with: directory) else { return nil }
        let rest = path.dropFirst(directory.count)
        guard rest.isEmpty || rest.first == UInt8(ascii: "/") else { return nil }
        return String(decoding: rest.dropFirst(), as: UTF8.self)
    }

    /// Reads one line; see `proc_pid_mountinfo(5)`.
    ///
    ///     36 35 98:0 /root /mnt rw,noatime shared:1 - fuse.dewpoint source rw,user_id=0,group_id=0
    ///     id up dev  root  place options   zero or more  type       source  options
    private static func entry(line: Substring) -> Entry? {
        let fields = line.split(separator: " ", omittingEmptySubsequences: false)
        guard fields.count > 9, let dash = fields.dropFirst(6).firstIndex(of: "-"), fields.count > dash + 3 else {
            return nil
        }
        let options = fields[dash + 3].split(separator: ",")
        let owner = options.first { $0.hasPrefix("user_id=") }
        return Entry(
            device: String(fields[2]), root: unescape(fields[3]), mountpoint: unescape(fields[4]),
            type: unescape(fields[dash + 1]), source: unescape(fields[dash + 2]),
            owner: owner.flatMap { UInt32($0.dropFirst("user_id=".count)) },
            admitsOthers: options.contains("allow_other"))
    }

    /// Turns `\040` and the like back into the bytes that would end a field.
    private static func unescape(_ field: Substring) -> String {
        let bytes = Array(field.utf8)
        var plain: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\\"), index + 3 < bytes.count,
                let value = UInt8(String(decoding: bytes[(index + 1)...(index + 3)], as: UTF8.self), radix: 8)
            {
                plain.append(value)
                index += 4
            } else {
                plain.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }
}
