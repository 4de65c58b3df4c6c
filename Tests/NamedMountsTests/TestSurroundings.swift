import Foundation
import Model

@testable import NamedMounts

extension MountSurroundings {
    /// A machine without mounts, unless given, and with a home directory that does not exist.
    static func test(mountinfo: String = "", variables: [String: String] = [:]) -> MountSurroundings {
        MountSurroundings(variables: variables, home: "/nonexistent/home", table: MountTable(text: mountinfo))
    }
}

extension MountsDocument {
    init(_ text: String) { self.init(text, .test()) }

    /// `LINE:COLUMN: SENTENCE` of each mistake.
    var mistakes: [String] { problems.map { "\($0.line):\($0.column): \($0.sentence)" } }
}

extension NamedMount {
    static func test(_ name: String, url: String = "s3://bucket/notes", at mountpoint: String = "/nonexistent/Work")
        throws
        -> NamedMount
    {
        NamedMount(name: try MountName(name), url: url, mountpoint: mountpoint)
    }
}

/// A directory that is removed when the test ends.
final class ScratchDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "mounts-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
