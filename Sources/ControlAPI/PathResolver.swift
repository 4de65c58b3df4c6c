import Glibc

/// Makes the paths that users type absolute without asking a mounted container anything: its daemon may be dead, and
/// then whoever asks hangs. Symbolic links are followed up to the mountpoint; what lies behind it is taken as it stands.
package struct PathResolver: Sendable {
    private let isMountpoint: @Sendable (String) -> Bool
    private let readLink: @Sendable (String) -> String?

    /// The most symbolic links on one way, as the kernel has it (`ELOOP`).
    package static let linkLimit = 40

    package init(mounts: MountTable) {
        let places = Set(mounts.entries.filter { $0.type == MountTable.type }.map { Array($0.mountpoint.utf8) })
        self.init(isMountpoint: { places.contains(Array($0.utf8)) }, readLink: Self.systemReadLink)
    }

    init(isMountpoint: @escaping @Sendable (String) -> Bool, readLink: @escaping @Sendable (String) -> String?) {
        self.isMountpoint = isMountpoint
        self.readLink = readLink
    }

    /// - Parameter directory: Where a relative path begins; absolute.
    /// - Returns: An absolute path without `.`, `..` and a slash at its end; `nil` when its links lead in a circle.
    package func resolve(_ path: String, from directory: String) -> String? {
        var todo = Self.parts(path.utf8.first == UInt8(ascii: "/") ? path : "\(directory)/\(path)")
        var done: [String] = []
        var insideSince: Int?
        var links = 0
        while let part = todo.popLast() {
            if part == ".." {
                _ = done.popLast()
                if let since = insideSince, done.count < since { insideSince = nil }
                continue
            }
            done.append(part)
            guard insideSince == nil else { continue }
            let place = Self.text(done)
            if isMountpoint(place) {
                insideSince = done.count
            } else if let target = readLink(place) {
                links += 1
                guard links <= Self.linkLimit else { return nil }
                done = target.utf8.first == UInt8(ascii: "/") ? [] : done.dropLast()
                todo += Self.parts(target)
            }
        }
        return Self.text(done)
    }

    /// The directory that this process is in; the kernel knows its name without asking the filesystem.
    package static func currentDirectory() -> String {
        guard let name = getcwd(nil, 0) else { return "/" }  // removed under us: only absolute paths mean anything then
        defer { free(name) }
        return String(cString: name)
    }

    /// The parts of a path, the first one last.
    private static func parts(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter { $0 != "." }.reversed()
    }

    private static func text(_ parts: [String]) -> String { "/" + parts.joined(separator: "/") }

    private static func systemReadLink(_ path: String) -> String? {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &target, target.count)
        return count < 0 ? nil : String(decoding: target[..<count], as: UTF8.self)
    }
}
