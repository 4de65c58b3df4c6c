import Glibc

/// What the daemon writes to its helper: one call, on a path below the mountpoint.
///
/// On the wire: the length of the rest (4 bytes, little-endian), a byte for the call, and each path as the number of its
/// names (4 bytes) and the names, each with its length (2 bytes). The answer is the errno of the call, 4 bytes.
struct AnnouncementOrder: Equatable {
    enum Call: UInt8 {
        /// Looks for ``AnnouncementHelper``'s own directory, which nobody else sees.
        case verify
        case createFile, createDirectory, createLink
        case removeFile, removeDirectory
        case move, replace, modify, touch
    }

    var call: Call
    /// Names as bytes, from the root of the mount.
    var path: [[UInt8]]
    /// The new path of a move.
    var target: [[UInt8]] = []

    /// The longest order, in bytes: some thousand directories deep.
    static let limit = 4 << 20

    var bytes: [UInt8] {
        var body = [call.rawValue]
        for path in [path, target] {
            body.append(path.count, byteCount: 4)
            for name in path {
                body.append(name.count, byteCount: 2)
                body += name
            }
        }
        var bytes: [UInt8] = []
        bytes.append(body.count, byteCount: 4)
        return bytes + body
    }

    /// - Parameter body: Without the length.
    init?(_ body: [UInt8]) {
        var rest = body[...]
        guard let call = rest.popFirst().flatMap(Call.init) else { return nil }
        self.call = call
        guard let path = rest.takePath(), let target = rest.takePath(), rest.isEmpty else { return nil }
        (self.path, self.target) = (path, target)
    }

    init(_ call: Call, _ path: [[UInt8]], to target: [[UInt8]] = []) {
        (self.call, self.path, self.target) = (call, path, target)
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ number: Int, byteCount: Int) {
        for index in 0..<byteCount { append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func takeNumber(byteCount: Int) -> Int? {
        guard count >= byteCount else { return nil }
        defer { self = dropFirst(byteCount) }
        return prefix(byteCount).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    fileprivate mutating func takePath() -> [[UInt8]]? {
        guard let count = takeNumber(byteCount: 4) else { return nil }
        var path: [[UInt8]] = []
        for _ in 0..<count {
            guard let length = takeNumber(byteCount: 2), self.count >= length else { return nil }
            path.append(Array(prefix(length)))
            self = dropFirst(length)
        }
        return path
    }
}
