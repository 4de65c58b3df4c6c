import ArgumentParser
import Daemon
import Foundation
import Glibc
import Sealing

/// How an encrypted container is opened where this device is not enrolled. A passphrase is never an option itself: any
/// user can read a process's arguments.
struct PassphraseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "For an encrypted container: a file whose first line is the passphrase or the recovery code. (default: DEWPOINT_PASSPHRASE, or the first line that DEWPOINT_PASSPHRASE_COMMAND prints, or a prompt)",
            valueName: "file"), completion: .file())
    var passphraseFile: String?

    /// For the commands that open a container.
    var unlocking: Unlocking { unlocking(isExpected: passphraseFile != nil) }

    /// - Parameter isExpected: Whether a plain container is refused.
    func unlocking(isExpected: Bool) -> Unlocking {
        Unlocking(isExpected: isExpected) { [self] url throws(DaemonError) in
            do {
                return try secret(for: url)
            } catch {
                let failure = CommandFailure(error)
                let kind: DaemonError.Kind =
                    switch failure?.status {
                    case .usage: .usage
                    case .notFound: .notFound
                    default: .denied
                    }
                throw DaemonError(kind, failure?.sentence ?? error.localizedDescription)
            }
        }
    }

    /// Whether the secret is there without anybody being asked.
    var isGiven: Bool {
        passphraseFile != nil || PassphraseEnvironment.passphrase != nil
            || ProcessInfo.processInfo.environment[PassphraseEnvironment.commandVariable] != nil
    }

    /// Whether there is no such file as was given.
    var lacksFile: Bool { passphraseFile.map { access($0, F_OK) != 0 } ?? false }

    private func secret(for url: String) throws -> PersonalSecret {
        let text =
            try given() ?? PassphrasePrompt.ask("Passphrase or recovery code of \(url)")
            ?? { () throws -> String in throw Self.nobodyToAsk(url) }()
        if let code = RecoveryCode(text) { return .recovery(code) }
        return .passphrase(try Self.passphrase(text))
    }

    /// The passphrase of a new container, or the new one of a container.
    ///
    /// - Parameter takesEnvironment: Whether the variables count, and do not mean the present one.
    func newPassphrase(takesEnvironment: Bool = true) throws -> Passphrase {
        let text: String
        if let given = takesEnvironment ? try given() : try passphraseFile.map(Self.firstLine(ofFile:)) {
            text = given
        } else {
            guard let first = try PassphrasePrompt.ask("New passphrase") else { throw Self.nobodyToAsk(nil) }
            guard try PassphrasePrompt.ask("The same again") == first else {
                throw CommandFailure(.usage, "the two passphrases differ; nothing was changed")
            }
            text = first
        }
        // Where it is asked for, it would be taken for a code, and open nothing.
        guard RecoveryCode(text) == nil else {
            throw CommandFailure(
                .usage,
                "this is a recovery code, which cannot be a passphrase: choose another passphrase; a new code is made with: "
                    + "dewpoint key recovery")
        }
        guard text.count >= Self.leastLength else {
            throw CommandFailure(
                .usage,
                "the passphrase has fewer than \(Self.leastLength) characters: who has the store can guess it; choose a "
                    + "longer one, for example of several words")
        }
        return try Self.passphrase(text)
    }

    /// The least length of a new passphrase in characters. Those of existing containers are taken as they are.
    private static let leastLength = 8

    private static func passphrase(_ text: String) throws -> Passphrase {
        do throws(KeyringError) { return try Passphrase(text) } catch {
            throw CommandFailure(.usage, error.sentence)
        }
    }

    private func given() throws -> String? {
        if let passphraseFile { return try Self.firstLine(ofFile: passphraseFile) }
        if let bytes = PassphraseEnvironment.passphrase {
            return try PassphraseText.decode(bytes, from: "the passphrase in \(PassphraseEnvironment.variable)")
        }
        return try ProcessInfo.processInfo.environment[PassphraseEnvironment.commandVariable].map { command in
            try PassphraseText.decode(
                firstLineOf: try PassphraseCommand(command).output(),
                from: "the passphrase that \(PassphraseEnvironment.commandVariable) prints")
        }
    }

    static func firstLine(ofFile path: String) throws -> String {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw CommandFailure(
                .notFound, "the passphrase file \(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        defer { try? file.close() }  // read-only: nothing can be lost
        var line = FirstLine()
        while !line.isComplete { line.read(from: file.fileDescriptor) }
        guard line.error == 0 else {
            throw CommandFailure(
                .failed, "the passphrase file \(path) cannot be read: \(String(cString: strerror(line.error)))")
        }
        return try PassphraseText.decode(firstLineOf: line.bytes, from: "the passphrase in the file \(path)")
    }

    private static func nobodyToAsk(_ url: String?) -> CommandFailure {
        let what = url.map { "the container at \($0) is encrypted, and this device is not enrolled" }
        return CommandFailure(
            .denied,
            (what ?? "a passphrase is needed")
                + ": run this in a terminal, or give --passphrase-file, \(PassphraseEnvironment.variable) or "
                + PassphraseEnvironment.commandVariable)
    }
}
