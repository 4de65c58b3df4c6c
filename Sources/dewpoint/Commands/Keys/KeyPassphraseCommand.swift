import ArgumentParser
import Daemon
import Sealing

struct KeyPassphraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passphrase", abstract: "Replaces the passphrase of an encrypted container.",
        discussion: """
            The former one opens nothing any more, and what is written from now on is sealed with new keys. What somebody has read with it \
            already cannot be taken back.
            """)

    @OptionGroup var place: KeyPlace

    @Option(
        help: ArgumentHelp(
            "A file whose first line is the new passphrase. (default: a prompt)", valueName: "file"),
        completion: .file())
    var newPassphraseFile: String?

    func run() async throws {
        var keys = try await place.keys()
        var options = PassphraseOptions()
        options.passphraseFile = newPassphraseFile
        let passphrase = try options.newPassphrase(takesEnvironment: false)
        try await keys.change { change throws(KeyringError) in try change.replace(with: .passphrase(passphrase)) }
        print("the passphrase was replaced; devices that are enrolled go on without it")
    }
}
