import Foundation
import Glibc
import Programs

/// A server that answers as no honest program does; see `hostile_peers.py`. It ends with the last reference.
package final class HostileServer: Sendable {
    private let program: Program
    private let directory: String
    private let log: String
    /// Where it listens if that is a port of 127.0.0.1.
    package let port: Int?

    /// How many kinds there are: the seeds of one kind differ by this.
    package static let kindCount: UInt64 = 26
    package static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "hostile_peers.py").path

    package struct NotReady: Error {}

    /// The path of its socket if it has no port.
    package var socketPath: String { directory + "/s" }
    package var url: String { "http://127.0.0.1:\(port ?? 0)" }

    /// - Parameters:
    ///   - seed: Of the first connection; each further one has the next.
    ///   - hasPort: Whether it listens at a port, or at the path of a socket.
    package init(seed: UInt64, hasPort: Bool = false) async throws {
        var template = Array((NSTemporaryDirectory() + "peers-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw NotReady() }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        log = directory + "/log"
        program = try Program(
            ["python3", Self.script, "serve", hasPort ? "0" : directory + "/s", "\(seed)"], log: log)
        var words: [Substring] = []
        for _ in 0..<Self.attemptLimit where words.isEmpty {
            try await Task.sleep(for: .milliseconds(10))
            words = Self.lines(log).first?.split(separator: " ") ?? []
        }
        port = words.count == 2 ? Int(words[1]) : nil
        guard words.first == "ready" else { throw NotReady() }
    }

    /// How often it is asked whether it listens: 30 s, on a busy machine.
    private static let attemptLimit = 3000

    deinit {
        program.end()
        // A leftover in the temporary directory is harmless.
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// What it has sent on connections that have ended.
    package var sent: [(kind: String, byteCount: Int)] {
        Self.lines(log).dropFirst().compactMap { line in
            let words = line.split(separator: " ")
            return words.count == 2 ? Int(words[1]).map { (String(words[0]), $0) } : nil
        }
    }

    /// Only whole lines.
    private static func lines(_ path: String) -> [Substring] {
        let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    }
}
