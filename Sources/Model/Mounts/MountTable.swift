import Foundation
package import Glibc

/// The mounts of this process's namespace, as `/proc/self/mountinfo` lists them. Reading it accesses no mount, so it
/// works even if a mount hangs or its daemon is dead.
package struct MountTable: Sendable {
    package struct Entry: Hashable, Sendable {
        /// Of the mount, and of the one that its mountpoint is on; unique while it is mounted.
        package var number: UInt64
        package var parent: UInt64
        /// `major:minor`: the same for every mount of one filesystem.
        package var device: String
        /// The minor device number, which also names a connection below `/sys/fs/fuse/connections`.
        package var minorDevice: String { String(device.split(separator: ":").last ?? "") }
        /// The mounted part of the filesystem: `/`, or the directory of a bind mount.
        package var root: String
        package var mountpoint: String
        package var type: String
        package var source: String
        /// The user that mounted a FUSE filesystem (`user_id=`).
        package var owner: UInt32?
        /// Whether users other than the owner may access a FUSE filesystem (`allow_other`).
        package var admitsOthers: Bool
        /// Whether the kernel refuses changes (`ro`).
        package var isReadOnly: Bool
    }

    /// In the order of mounting.
    package let entries: [Entry]

    /// The filesystem type of our mounts.
    package static let type = "fuse.dewpoint"

    /// - Parameter text: The contents of `/proc/self/mountinfo`.
    package init(text: String) {
        entries = text.splitBytes(at: UInt8(ascii: "\n")).compactMap { Self.entry(line: $0) }
    }

    /// The table as it is now; empty where there is no `/proc`.
    package static func current() -> MountTable {
        guard let file = FileHandle(forReadingAtPath: "/proc/self/mountinfo") else { return MountTable(text: "") }
        defer { try? file.close() }  // read-only: nothing can be lost
        // What was read before an error is a part of the table; the kernel gives none for this file.
        let text = (try? file.readToEnd()) ?? Data()
        return MountTable(text: String(decoding: text, as: UTF8.self))
    }

    /// The uppermost mount at a path without symbolic links. Bytes are compared.
    package func mount(at path: String) -> Entry? {
        entries.last { $0.mountpoint.utf8.elementsEqual(path.utf8) }
    }

    /// What is mounted within a directory, whose path has no symbolic links: not on the directory itself.
    package func mounts(within directory: String) -> [Entry] {
        entries.filter { entry in
            guard let rest = ItemPath(entry.mountpoint).relative(to: ItemPath(directory)) else { return false }
            return !rest.string.isEmpty
        }
    }

    /// The type of the file system with a device number, such as `ext4`.
    package func type(ofDevice device: dev_t) -> String? {
        // As the kernel's makedev() lays numbers out.
        let device = UInt64(device)
        let major = (device >> 8) & 0xfff | (device >> 32) & ~0xfff
        let minor = device & 0xff | (device >> 12) & ~0xff
        return entries.first { $0.device == "\(major):\(minor)" }?.type
    }

    /// Our own mounts, each once: bind mounts of them are left out.
    package var containers: [Entry] { entries.filter { $0.type == Self.type && $0.root == "/" && isFirst($0) } }

    /// Finds the container that contains a path.
    ///
    /// - Parameter path: Absolute, without `.`, `..` and symbolic links on the way to the mount.
    /// - Returns: The mount and the path below its root; `nil` when the path is on another filesystem.
    package func container(of path: String) -> (mount: Entry, path: String)? {
        var found: (entry: Entry, rest: String)?
        for entry in entries {
            guard let rest = ItemPath(path).relative(to: ItemPath(entry.mountpoint))?.string else { continue }
            if let best = found, best.entry.mountpoint.utf8.count > entry.mountpoint.utf8.count { continue }
            found = (entry, rest)  // a later mount at the same place covers the earlier one
        }
        guard let found, found.entry.type == Self.type else { return nil }
        guard let mount = entries.first(where: { $0.device == found.entry.device && $0.root == "/" }) else {
            return nil
        }
        let parts = [String(Substring(found.entry.root.utf8.dropFirst())), found.rest].filter { !$0.isEmpty }
        return (mount, parts.joined(separator: "/"))
    }

    private func isFirst(_ entry: Entry) -> Bool {
        entries.first { $0.device == entry.device && $0.root == "/" } == entry
    }

    /// Parses one line; see `proc_pid_mountinfo(5)`.
    ///
    ///     36 35 98:0 /root /mnt rw,noatime shared:1 - fuse.dewpoint source rw,user_id=0,group_id=0
    ///     id up dev  root  place options   zero or more  type       source  options
    private static func entry(line: Substring) -> Entry? {
        let fields = line.splitBytes(at: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard fields.count > 9, let dash = fields.dropFirst(6).firstIndex(of: "-"), fields.count > dash + 3 else {
            return nil
        }
        let options = fields[dash + 3].split(separator: ",")
        let owner = options.first { $0.hasPrefix("user_id=") }
        guard let number = UInt64(fields[0]), let parent = UInt64(fields[1]) else { return nil }
        return Entry(
            number: number, parent: parent, device: String(fields[2]), root: unescape(fields[3]),
            mountpoint: unescape(fields[4]),
            type: unescape(fields[dash + 1]), source: unescape(fields[dash + 2]),
            owner: owner.flatMap { UInt32($0.dropFirst("user_id=".count)) },
            admitsOthers: options.contains("allow_other"),
            // Of the mount, or of the whole filesystem.
            isReadOnly: options.contains("ro") || fields[5].split(separator: ",").contains("ro"))
    }

    /// Decodes `\040` and similar escapes of bytes that would end a field.
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
