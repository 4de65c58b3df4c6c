import Glibc
package import Model

/// Makes paths typed by users absolute without accessing a mounted container: its daemon may be dead, and then the
/// access hangs. Symbolic links are followed up to the mountpoint; the rest of the path is taken literally.
package struct PathResolver: Sendable {
    private let isMountpoint: @Sendable (String) -> Bool
    private let readLink: @Sendable (String) -> String?

    /// The most symbolic links followed; the same as the kernel's limit (`ELOOP`).
    package static let linkLimit = 40

    package init(mounts: MountTable) {
        let places = Set(mounts.entries.filter { $0.type == MountTable.type }.map { Array($0.mountpoint.utf8) })
        self.init(isMountpoint: { places.contains(Array($0.utf8)) }, readLink: Self.systemReadLink)
    }

    init(isMountpoint: @escaping @Sendable (String) -> Bool, readLink: @escaping @Sendable (String) -> String?) {
        self.isMountpoint = isMountpoint
        self.readLink = readLink
    }

    /// - Parameter directory: The base of a relative path; absolute.
    /// - Returns: An absolute path without `.`, `..` and a trailing slash; `nil` when its links form a loop.
    package func resolve(_ path: String, from directory: String) -> String? {
        var todo = Self.parts(ItemPath(path).isAbsolute ? path : "\(directory)/\(path)")
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
                done = ItemPath(target).isAbsolute ? [] : done.dropLast()
                todo += Self.parts(target)
            }
        }
        return Self.text(done)
    }

    /// The current directory; the kernel knows its name without accessing the filesystem.
    package static func currentDirectory() -> String {
        guard let name = getcwd(nil, 0) else { return "/" }  // removed meanwhile: then only absolute paths work
        defer { free(name) }
        return String(cString: name)
    }

    /// The components of a path, the first one last.
    private static func parts(_ path: String) -> [String] {
        ItemPath(path).components.map(String.init).filter { $0 != "." }.reversed()
    }

    private static func text(_ parts: [String]) -> String { "/" + ItemPath(parts).string }

    private static func systemReadLink(_ path: String) -> String? {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &target, target.count)
        return count < 0 ? nil : String(decoding: target[..<count], as: UTF8.self)
    }
}
