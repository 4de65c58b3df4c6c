import ArgumentParser
import Daemon
import Foundation
import Glibc
import Linux
import Model
import Sealing

/// Where a new recovery code goes: to the terminal, to be written down, or into a file.
struct RecoveryCodeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A new file for the recovery code. (default: it is shown on the terminal)", valueName: "file"),
        completion: .file())
    var recoveryFile: String?

    /// Makes a code, and checks that it can be given out, before anything is changed.
    ///
    /// A file has the code, on the disk, from here on: whatever ends the program later, a code that opens the container is
    /// not lost.
    ///
    /// - Parameter takesUp: Whether a file that has a code is taken as it is: a creation that was interrupted leaves one, and
    ///   is to be repeated by the same command.
    func prepare(takingUp takesUp: Bool = false) throws -> PendingRecoveryCode {
        guard let recoveryFile else {
            try PassphrasePrompt.checkTerminal(orGive: "--recovery-file")
            return PendingRecoveryCode(code: RecoveryCode(), file: nil)
        }
        let code = RecoveryCode()
        do throws(FileError) {
            try Self.write(code, to: recoveryFile)
        } catch {
            if takesUp, error.errno == EEXIST, let found = Self.code(in: recoveryFile, otherwise: code) {
                CommandFailure.say(
                    "\(recoveryFile) has a recovery code, as a command that was interrupted leaves it: this is the code"
                )
                return PendingRecoveryCode(code: found, file: nil, isShown: false)
            }
            throw CommandFailure(
                .cannotCreate,
                "the file \(recoveryFile) cannot be created: \(String(cString: strerror(error.errno))); choose another one"
            )
        }
        return PendingRecoveryCode(code: code, file: recoveryFile, isShown: false)
    }

    private static func write(_ code: RecoveryCode, to path: String) throws(FileError) {
        let file = try Descriptor(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        do throws(FileError) {
            try write(code, to: file, path)
        } catch {
            unlink(path)
            throw error
        }
    }

    private static func write(_ code: RecoveryCode, to file: Descriptor, _ path: String) throws(FileError) {
        try [UInt8]("\(code.text)\n".utf8).withBytes { bytes throws(FileError) in try file.append(bytes) }
        try file.synchronize()
        try Descriptor(URL(filePath: path).deletingLastPathComponent().path).synchronize()
    }

    /// The longest file that is read: 256 bytes.
    private static let byteLimit = 256

    /// - Parameter new: Written where the file is empty.
    /// - Returns: `nil` unless the file has a code, and nobody else could read it.
    private static func code(in path: String, otherwise new: RecoveryCode) -> RecoveryCode? {
        guard let file = try? Descriptor(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK), let status = try? file.status(),
            status.kind == S_IFREG, status.mode & 0o077 == 0, status.owner == geteuid(), status.size <= Self.byteLimit,
            let bytes = try? file.read(byteCount: Int(status.size), at: 0)
        else { return nil }
        if bytes.isEmpty { return (try? write(new, to: file, path)).map { new } }
        return RecoveryCode(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}

/// A new recovery code, which is on the disk, or can be shown, before it opens anything.
struct PendingRecoveryCode {
    let code: RecoveryCode
    /// A file that was made for it.
    let file: String?
    /// Whether it is given out on the terminal.
    var isShown = true

    /// Shows the code on the terminal unless it is in a file: the only time that it is known.
    func giveOut() throws {
        guard isShown else { return }
        let text = """

            Write down this recovery code and keep it apart from this device. It opens the container when the
            passphrase is lost, and is shown only now:

                \(code.text)


            """
        guard PassphrasePrompt.show(text) else {
            throw CommandFailure(
                .failed, "the recovery code could not be shown; make another one with: dewpoint key recovery")
        }
    }

    /// Removes the file after a failure: a code that opens nothing is no use to anybody.
    ///
    /// Where the store did not answer, it may have done what it was asked: then the file stays, as the only copy of a code
    /// that opens the container.
    func discard(after error: any Error) {
        guard let file else { return }
        guard (error as? DaemonError)?.kind == .unreachable else {
            unlink(file)
            return
        }
        CommandFailure.say(
            "\(file) stays: the store may have taken its code although no answer came; "
                + "give the code where the passphrase is asked for, and remove the file if it opens nothing")
    }
}
