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

    /// Checks that the code can be given out, before anything is changed.
    ///
    /// A file has the code, on the disk, from here on: whatever ends the program later, a code that opens the container is
    /// not lost.
    func prepare(_ code: RecoveryCode) throws {
        guard let recoveryFile else { return try PassphrasePrompt.checkTerminal(orGive: "--recovery-file") }
        do throws(FileError) {
            let file = try Descriptor(recoveryFile, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            do throws(FileError) {
                try [UInt8]("\(code.text)\n".utf8).withBytes { bytes throws(FileError) in try file.append(bytes) }
                try file.synchronize()
                try Descriptor(URL(filePath: recoveryFile).deletingLastPathComponent().path).synchronize()
            } catch {
                unlink(recoveryFile)
                throw error
            }
        } catch {
            throw CommandFailure(
                .cannotCreate,
                "the file \(recoveryFile) cannot be created: \(String(cString: strerror(error.errno))); choose another one"
            )
        }
    }

    /// Shows the code on the terminal unless it is in a file: the only time that it is known.
    func giveOut(_ code: RecoveryCode) throws {
        guard recoveryFile == nil else { return }
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
        guard let recoveryFile else { return }
        guard (error as? DaemonError)?.kind == .unreachable else {
            unlink(recoveryFile)
            return
        }
        CommandFailure.say(
            "\(recoveryFile) stays: the store may have taken its code although no answer came; "
                + "give the code where the passphrase is asked for, and remove the file if it opens nothing")
    }
}
