import ArgumentParser
import Daemon
import Foundation
import Sealing
import Testing

@testable import dewpoint

@Suite struct RecoveryCodeOptionsTests {
    @Test(arguments: [DaemonError.Kind.cannotCreate, .denied, .failed, .unreachable])
    func `the file of a recovery code is removed after a failure, unless the store may have taken the code`(
        kind: DaemonError.Kind
    ) throws {
        defer { try? FileManager.default.removeItem(atPath: file) }
        let pending = try prepare()
        pending.discard(after: DaemonError(kind, "why"))
        #expect(text == (kind == .unreachable ? "\(pending.code.text)\n" : nil))
    }

    @Test func `the file of an interrupted creation is taken up by the next one, and never removed`() throws {
        defer { try? FileManager.default.removeItem(atPath: file) }
        let first = try prepare().code
        let again = try prepare(takingUp: true)
        #expect(again.code == first)
        again.discard(after: DaemonError(.failed, "why"))
        #expect(text == "\(first.text)\n")
        // A code that replaces another one is always new.
        #expect(throws: CommandFailure.self) { try prepare() }
        // Nor is what others could read, or is no code.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        #expect(throws: CommandFailure.self) { try prepare(takingUp: true) }
        for text in ["\n", "x", String(first.text.dropLast()), String(repeating: "A", count: 300)] {
            try Data(text.utf8).write(to: URL(filePath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            #expect(throws: CommandFailure.self) { try prepare(takingUp: true) }
        }
        // Killed between making the file and writing into it.
        try Data().write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let written = try prepare(takingUp: true).code
        #expect(text == "\(written.text)\n")
    }

    private let file = FileManager.default.temporaryDirectory.appending(path: "recovery-\(UUID().uuidString)").path

    private var text: String? { try? String(contentsOfFile: file, encoding: .utf8) }

    private func prepare(takingUp takesUp: Bool = false) throws -> PendingRecoveryCode {
        try RecoveryCodeOptions.parse(["--recovery-file", file]).prepare(takingUp: takesUp)
    }
}
