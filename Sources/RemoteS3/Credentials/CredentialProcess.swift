import Foundation
import Model
import Remote
import Subprocess

/// A command that prints credentials, as a profile's `credential_process` names it.
///
///     {"Version": 1, "AccessKeyId": …, "SecretAccessKey": …, "SessionToken": …, "Expiration": ISO 8601}
///
/// The last two may be missing. Run by `sh`, with the daemon's environment, in a session of its own and so without a
/// terminal, and without the daemon's open files. Foundation's `Process` is unsuitable: where some 1,300 files are open, as a daemon may have
/// them, its `run()` reads beyond the end of a listing of them, and the daemon dies.
/// Source: "Process credential provider", AWS SDKs and Tools Reference Guide.
struct CredentialProcess: Equatable, Sendable {
    let command: String
    /// For messages: `the credential_process of profile work`.
    let origin: String

    /// How long the command may take: 60 s, as it may ask a server far away.
    static let limit = Duration.seconds(60)
    /// The longest output that is read: 64 KiB.
    static let outputByteLimit = 64 << 10
    /// How many characters of the command's own message are shown.
    private static let messageLimit = 200

    /// - Parameter limit: How long the command may take.
    /// - Throws: ``StoreError`` with `denied` when the command fails or prints something else, `unavailable` when it does
    ///   not end in time.
    func credentials(limit: Duration = limit) async throws(StoreError) -> Credentials {
        switch await ending(within: limit) {
        case .notStarted(let reason): throw CredentialSource.refusal("\(origin) cannot be run: \(reason)")
        case .late:
            throw StoreError(
                .unavailable, key: "credentials", "\(origin) has not ended after \(limit); run it yourself")
        case .ended(0, let output, _): return try credentials(in: output)
        case .ended(let status, _, let message):
            throw CredentialSource.refusal("\(origin) failed with status \(status)\(Self.shown(message))")
        }
    }

    private enum Ending: Sendable {
        case notStarted(String)
        case late
        /// The status is as in a shell: 128 plus the signal's number for a command that a signal ended.
        case ended(status: Int32, output: [UInt8], message: [UInt8])
    }

    private func ending(within limit: Duration) async -> Ending {
        await withTaskGroup(of: Ending.self) { group in
            group.addTask { await ending() }
            group.addTask {
                // Ends early when the command has ended, or nobody waits for its keys any more.
                try? await Task.sleep(for: limit)
                return .late
            }
            defer { group.cancelAll() }
            return await group.next() ?? .late
        }
    }

    /// Kills the command, and what it has started, when the task is cancelled.
    private func ending() async -> Ending {
        var options = PlatformOptions()
        // In the daemon's session, a command that reads its terminal would be stopped instead of failing.
        options.createSession = true
        options.teardownSequence = [.send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .zero)]
        do {
            let run = try await Subprocess.run(
                .name("sh"), arguments: ["-c", command], platformOptions: options, input: .none,
                output: .sequence, error: .sequence
            ) { execution in
                async let message = Self.beginning(of: execution.standardError)
                return (try await Self.beginning(of: execution.standardOutput), try await message)
            }
            let status =
                switch run.terminationStatus {
                case .exited(let code): code
                case .signaled(let signal): 128 + signal
                }
            return .ended(status: status, output: run.closureResult.0, message: run.closureResult.1)
        } catch {
            return .notStarted("\(error)")
        }
    }

    /// What is beyond the limit is read, so that the command does not wait, and dropped.
    private static func beginning(of output: SubprocessOutputSequence) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await buffer in output {
            buffer.withUnsafeBytes { bytes.append(contentsOf: $0.prefix(outputByteLimit - bytes.count)) }
        }
        return bytes
    }

    private func credentials(in output: [UInt8]) throws(StoreError) -> Credentials {
        let wrong = CredentialSource.refusal(
            "\(origin) must print a JSON object with Version 1, AccessKeyId and SecretAccessKey")
        guard let document = try? ForeignJSON.decode(CredentialDocument.self, from: Data(output)),
            document.version == 1
        else { throw wrong }
        do throws(CredentialDocument.Fault) {
            return try document.credentials(origin: origin)
        } catch {
            switch error {
            case .noCredentials: throw wrong
            case .invalidExpiration:
                throw CredentialSource.refusal("\(origin) printed an Expiration that is no time in ISO 8601")
            }
        }
    }

    private static func shown(_ message: [UInt8]) -> String {
        let text = String(decoding: message, as: UTF8.self).split(whereSeparator: \.isNewline).last ?? ""
        let trimmed = text.trimmingCharacters(in: .whitespaces)
        return trimmed.isEmpty ? "; run it yourself" : ": \(trimmed.prefix(messageLimit))"
    }
}
