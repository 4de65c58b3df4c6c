import Foundation
import Glibc

/// A directory of a test, removed with the value.
final class ScratchDirectory {
    let url: URL

    /// - Parameter parent: Its file system is that of the directory.
    init(in parent: String = NSTemporaryDirectory()) throws {
        url = URL(fileURLWithPath: parent).appendingPathComponent("ubiquity-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)  // what is left over is in a temporary directory
    }

    func file(_ name: String, _ text: String, mode: Int = 0o644) throws -> URL {
        let url = url.appendingPathComponent(name)
        try Data(text.utf8).write(to: url)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
        return url
    }

    func directory(_ name: String) throws -> URL {
        let url = url.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
    }

    /// A second file system.
    static let elsewhere = "/dev/shm"
    static let hasElsewhere: Bool = {
        var one = stat()
        var other = stat()
        return stat(elsewhere, &one) == 0 && stat(NSTemporaryDirectory(), &other) == 0 && one.st_dev != other.st_dev
    }()
}

func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

func mode(_ url: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
}
