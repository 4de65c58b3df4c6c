import ArgumentParser
import ControlClient

struct LocksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "locks", abstract: "Tells who holds which item and who waits for it.")

    @Argument(help: "The mountpoint.", completion: .directory)
    var mountpoint: String

    @Flag(help: "Print a JSON array.")
    var json = false

    func run() async throws {
        let locks = try await MountedPath.mountpoint(mountpoint).withClient { try await $0.locks() }
        if json {
            try JSONOutput.print(locks)
        } else {
            print(locks.isEmpty ? "nothing is locked" : LockTree(locks).text)
        }
    }
}
