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
        let recovery = try recovery.prepare()
        do {
            try await keys.change { change throws(KeyringError) in try change.replace(with: .recovery(recovery.code)) }
        } catch {
            recovery.discard(after: error)
            throw error
        }
        try recovery.giveOut()
        print("the recovery code was replaced")
    }
}
