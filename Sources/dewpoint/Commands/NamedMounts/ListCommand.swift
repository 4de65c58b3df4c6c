import ArgumentParser
import Model
import NamedMounts

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the mounts that have a name.",
        discussion: "They are added with `dewpoint add`. What is mounted without a name is shown by `dewpoint status`.")

    @Flag(help: "Print a JSON array.")
    var json = false

    func run() async throws {
        let surroundings = MountSurroundings.current()
        let file = MountsFile(surroundings)
        let document = try file.read()
        let mounts = document.mounts.map { ListedMount($0, surroundings) }
        if json {
            try JSONOutput.print(mounts)
        } else if !mounts.isEmpty {
            print(Self.table(mounts))
        } else if document.problems.isEmpty {
            print("no mount has a name; add one with: dewpoint add NAME URL MOUNTPOINT")
        }
        let failures = document.problems.map { CommandFailure($0, in: document, of: file) }
        for failure in failures.dropLast() { failure.report() }
        if let last = failures.last { throw last }
    }

    static func table(_ mounts: [ListedMount]) -> String {
        TextTable.text(
            [["NAME", "MOUNTED", "AUTOSTART", "MOUNTPOINT", "URL"]]
                + mounts.map {
                    [
                        $0.name, !$0.mounted ? "no" : $0.readOnly ? "read-only" : "yes", $0.autostart ? "yes" : "no",
                        $0.mountpoint, $0.url,
                    ]
                })
    }
}
