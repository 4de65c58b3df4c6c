import ArgumentParser
import Foundation
import Glibc
import Sealing

/// Where a new recovery code goes: to the terminal, to be written down, or into a file.
struct RecoveryCodeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A new file for the recovery code. (default: it is shown on the terminal)", valueName: "file"),
        completion: .file())
    var recoveryFile: String?

    /// Checks that the code can be given out, before anything is changed; and makes the file.
    func prepare() throws {
        guard let recoveryFile else { return try PassphrasePrompt.checkTerminal(orGive: "--recovery-file") }
        let file = open(recoveryFile, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else {
            throw CommandFailure(
                .cannotCreate,
                "the file \(recoveryFile) cannot be created: \(String(cString: strerror(errno))); choose another one")
        }
        close(file)
    }

    /// Gives the code out: the only time that it is known.
    func giveOut(_ code: RecoveryCode) throws {
        guard let recoveryFile else {
            let text = """

                Write down this recovery code and keep it apart from this device. It opens the container when the
                passphrase is lost, and is shown only now:

                    \(code.text)


                """
            guard PassphrasePrompt.show(text) else {
                throw CommandFailure(
                    .failed, "the recovery code could not be shown; make another one with: dewpoint key recovery")
            }
            return
        }
        do {
            let file = try FileHandle(forWritingTo: URL(filePath: recoveryFile))
            try file.write(contentsOf: Data((code.text + "\n").utf8))
            try file.synchronize()
            try file.close()
        } catch {
            throw CommandFailure(
                .failed,
                "the recovery code could not be written to \(recoveryFile): \(error.localizedDescription); make another one "
                    + "with: dewpoint key recovery")
        }
    }

    /// After a failure, an empty file is no use to anybody.
    func discard() { if let recoveryFile { unlink(recoveryFile) } }
}
