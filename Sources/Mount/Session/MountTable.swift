import Glibc

/// The mounts in `/proc/self/mountinfo`. Reading it never waits for a file system. Related: proc(5).
struct MountTable {
    struct Mount: Equatable {
        /// The minor device number, which is also the connection's name below `/sys/fs/fuse/connections`.
        let minorDevice: String
        /// The mountpoint's path, as bytes: paths need not be UTF-8.
        let path: [UInt8]
        /// For example `ext4` or `fuse.dewpoint`.
        let type: String
    }

    let mounts: [Mount]

    /// - Parameter text: The contents of a mountinfo file; lines that cannot be parsed are skipped.
    init(parsing text: [UInt8]) {
        mounts = text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 6, let dash = fields.firstIndex(where: { $0.elementsEqual([UInt8(ascii: "-")]) }),
                dash + 1 < fields.count, let colon = fields[2].firstIndex(of: UInt8(ascii: ":"))
            else { return nil }
            return Mount(
                minorDevice: String(decoding: fields[2][(colon + 1)...], as: UTF8.self),
                path: Self.unescaped(fields[4]), type: String(decoding: fields[dash + 1], as: UTF8.self))
        }
    }

    /// The mounts of this process's namespace; none without `/proc`.
    static func current() -> MountTable {
        let file = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return MountTable(parsing: []) }
        defer { close(file) }
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(file, &piece, piece.count)
            guard count > 0 else { return MountTable(parsing: text) }
            text += piece[..<count]
        }
    }

    /// The topmost mount at a path without symbolic links.
    func mount(at path: String) -> Mount? {
        mounts.last { $0.path.elementsEqual(path.utf8) }
    }

    /// Decodes the kernel's `\ooo` escapes for blanks, tabs, line ends and backslashes.
    private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}
