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
        let file = FileManager.default.temporaryDirectory.appending(path: "recovery-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let options = try RecoveryCodeOptions.parse(["--recovery-file", file])
        let code = RecoveryCode()
        try options.prepare(code)
        options.discard(after: DaemonError(kind, "why"))
        let text = try? String(contentsOfFile: file, encoding: .utf8)
        #expect(text == (kind == .unreachable ? "\(code.text)\n" : nil))
    }
}
