import Foundation
import Glibc

/// A command that prints the passphrase, run by the shell with our terminal.
struct PassphraseCommand {
    /// How long it may take, with what it asks a person: 5 min.
    private static let limit = Duration.seconds(300)
    /// The most that is read: 4 KiB.
    private static let byteLimit = 4 << 10

    private let command: String

    init(_ command: String) { self.command = command }

    /// - Throws: ``CommandFailure`` with `denied` when it fails.
    func output() throws(CommandFailure) -> Data {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", command]
        process.standardOutput = pipe
        let output: Data
        do {
            try process.run()
            let end = DispatchWorkItem { process.terminate() }
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.limit / .seconds(1), execute: end)
            output = try pipe.fileHandleForReading.read(upToCount: Self.byteLimit) ?? Data()
            process.waitUntilExit()
            end.cancel()
        } catch {
            throw failure(error.localizedDescription)
        }
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw failure("it ended with status \(process.terminationStatus)")
        }
        guard !output.isEmpty else { throw failure("it printed nothing") }
        return output
    }

    private func failure(_ reason: String) -> CommandFailure {
        CommandFailure(.denied, "\(PassphraseEnvironment.commandVariable) gives no passphrase: \(reason)")
    }
}
