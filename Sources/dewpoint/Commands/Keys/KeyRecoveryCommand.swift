import ArgumentParser
import Daemon
import Sealing

struct KeyRecoveryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery", abstract: "Replaces the recovery code of an encrypted container.",
        discussion: "The former one opens nothing any more, as after dewpoint key passphrase.")

    @OptionGroup var place: KeyPlace
    @OptionGroup var recovery: RecoveryCodeOptions

    func run() async throws {
        var keys = try await place.keys()
        let code = RecoveryCode()
        try recovery.prepare(code)
        do {
            try await keys.change { change throws(KeyringError) in try change.replace(with: .recovery(code)) }
        } catch {
            recovery.discard(after: error)
            throw error
        }
        try recovery.giveOut(code)
        print("the recovery code was replaced")
    }
}
