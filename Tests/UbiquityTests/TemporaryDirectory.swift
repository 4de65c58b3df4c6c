import Ubiquity

/// A directory for one test, removed with the value.
final class TemporaryDirectory: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("ubiquity-\(UUID().uuidString.prefix(8))", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        // A leftover in the temporary directory is harmless.
        try? FileManager.default.removeItem(at: url)
    }

    func file(_ name: String, _ text: String? = nil) throws -> URL {
        let file = url.appendingPathComponent(name)
        if let text { try Data(text.utf8).write(to: file) }
        return file
    }
}
