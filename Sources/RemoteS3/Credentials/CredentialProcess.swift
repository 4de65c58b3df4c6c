import Foundation
import Glibc
import Remote

/// A command that prints credentials, as a profile's `credential_process` names it.
///
///     {"Version": 1, "AccessKeyId": …, "SecretAccessKey": …, "SessionToken": …, "Expiration": ISO 8601}
///
/// The last two may be missing. Run by `/bin/sh`, with the daemon's environment, and without a terminal.
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
        let run = await withCheckedContinuation { (done: CheckedContinuation<Run, Never>) in
            // Blocks until the command has ended.
            Thread.detachNewThread { done.resume(returning: Self.run(command, limit: limit)) }
        }
        switch run {
        case .notStarted(let reason): throw CredentialSource.refusal("\(origin) cannot be run: \(reason)")
        case .late:
            throw StoreError(
                .unavailable, key: "credentials", "\(origin) has not ended after \(limit); run it yourself")
        case .ended(0, let output, _): return try credentials(in: output)
        case .ended(let status, _, let message):
            throw CredentialSource.refusal("\(origin) failed with status \(status)\(Self.shown(message))")
        }
    }

    private enum Run: Sendable {
        case notStarted(String)
        case late
        case ended(Int32, output: Data, message: Data)
    }

    private static func run(_ command: String, limit: Duration) -> Run {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.standardInput = FileHandle.nullDevice
        let (output, message) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = message
        do {
            try process.run()
        } catch {
            return .notStarted(error.localizedDescription)
        }
        let deadline = ContinuousClock.now + limit
        var read = [Data(), Data()]
        let files = [output.fileHandleForReading.fileDescriptor, message.fileHandleForReading.fileDescriptor]
        guard collect(files, into: &read, until: deadline) else {
            kill(process.processIdentifier, SIGKILL)
            return .late
        }
        process.waitUntilExit()
        return .ended(process.terminationStatus, output: read[0], message: read[1])
    }

    /// Reads until both ends are closed.
    /// - Returns: Whether that was before the deadline.
    private static func collect(
        _ files: [Int32], into read: inout [Data], until deadline: ContinuousClock.Instant
    ) -> Bool {
        var waits = files.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        while waits.contains(where: { $0.fd >= 0 }) {
            let left = (deadline - .now) / .milliseconds(1)
            guard left > 0 else { return false }
            guard poll(&waits, nfds_t(waits.count), Int32(left.rounded(.up))) >= 0 || errno == EINTR else {
                return false
            }
            for index in waits.indices where waits[index].fd >= 0 && waits[index].revents != 0 {
                let count = Glibc.read(waits[index].fd, &buffer, buffer.count)
                if count > 0 {
                    // What is beyond the limit is read, so that the command does not wait, and dropped.
                    let room = outputByteLimit - read[index].count
                    read[index].append(contentsOf: buffer[..<min(count, room)])
                } else if count == 0 || errno != EINTR {
                    waits[index].fd = -1
                }
            }
        }
        return true
    }

    private func credentials(in output: Data) throws(StoreError) -> Credentials {
        let wrong = CredentialSource.refusal(
            "\(origin) must print a JSON object with Version 1, AccessKeyId and SecretAccessKey")
        guard let document = try? JSONDecoder().decode(CredentialDocument.self, from: output), document.version == 1
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

    private static func shown(_ message: Data) -> String {
        let text = String(decoding: message, as: UTF8.self).split(whereSeparator: \.isNewline).last ?? ""
        let trimmed = text.trimmingCharacters(in: .whitespaces)
        return trimmed.isEmpty ? "; run it yourself" : ": \(trimmed.prefix(messageLimit))"
    }
}
