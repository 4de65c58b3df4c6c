import Ubiquity

/// A directory of one test, deleted with its last reference.
final class DocumentDirectory: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("ubiquity-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func place(_ name: String) -> URL { url.appendingPathComponent(name) }

    /// Creates a file, and the directories above it.
    @discardableResult
    func file(_ name: String, _ text: String) throws -> URL {
        let place = place(name)
        try FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: place)
        return place
    }

    func text(_ name: String) throws -> String { String(decoding: try Data(contentsOf: place(name)), as: UTF8.self) }

    func inode(_ name: String) throws -> UInt64? {
        let attributes = try FileManager.default.attributesOfItem(atPath: place(name).path)
        return (attributes[.systemFileNumber] as? NSNumber)?.uint64Value
    }

    /// Everything in it, at any depth.
    func names() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: url.path).sorted() }
}
