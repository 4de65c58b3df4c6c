import ArgumentParser

struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Shows and changes who can open an encrypted container.",
        discussion: """
            dewpoint key list notes
            dewpoint key enrol s3://my-notes/work          # on a new device: prints a code
            dewpoint key accept notes CODE                 # on a device that is enrolled
            dewpoint key revoke notes "old laptop"

            Each change is one new version of the keyring in the store: it is made as a whole, or not at all.
            """,
        subcommands: [
            KeyListCommand.self, KeyPassphraseCommand.self, KeyRecoveryCommand.self, KeyEnrolCommand.self,
            KeyAcceptCommand.self, KeyRevokeCommand.self, KeyRotateCommand.self, KeyCheckpointCommand.self,
        ])
}
