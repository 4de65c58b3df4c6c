import ArgumentParser
import Model

struct LinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link", abstract: "Makes the link to a mount's store slow or lossy, to try out bad networks.",
        discussion: """
            The conditions last until `dewpoint link clear`, or until the container is unmounted. For lasting limits of the \
            bandwidth, use the mount options link_down, link_up and link_delay.

            dewpoint link set --profile 3G
            dewpoint link set /mnt/notes --down 512 --delay 200
            dewpoint link clear
            """,
        subcommands: [LinkSetCommand.self, LinkClearCommand.self, LinkShowCommand.self])
}

extension LinkCommand {
    /// Prints the conditions of a link.
    static func show(_ settings: LinkSettings, json: Bool) throws {
        if json { return try JSONOutput.print(settings) }
        let source = settings.isLasting == true && !settings.isUnchanged ? " (from the mount's options)" : ""
        print(settings.text + source)
    }
}
