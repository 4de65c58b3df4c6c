import ArgumentParser
import ControlAPI
import ControlClient
import Model

struct LocksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "locks", abstract: "Shows locks and claims: the holders and waiters of each item.",
        discussion: """
            Without a path: the container that the current directory is in, or the only one that is mounted.
            """)

    @Argument(help: "Show only this item and everything below it.", completion: .file())
    var path: String?

    @Option(
        name: .customLong("break"),
        help: ArgumentHelp(
            "Revoke a claim; its holder is notified.", valueName: "id"))
    var brokenClaim: UInt64?

    @Flag(help: "Print a JSON array.")
    var json = false

    func validate() throws {
        if brokenClaim != nil, json { throw ValidationError("--break cannot be used with --json") }
    }

    func run() async throws {
        let place = try path.map { try MountedPath($0) } ?? MountedPath.likeliest()
        if let brokenClaim {
            do {
                try await place.send(BreakRequest(id: brokenClaim))
            } catch ControlError.refused(let error) where error.code == .notFound {
                throw CommandFailure(.notFound, error.detail)  // not a missing item
            }
            return
        }
        let locks = Self.locks(try await place.send(LocksRequest()), below: place.path)
        if json {
            try JSONOutput.print(locks)
        } else {
            print(locks.isEmpty ? "nothing is locked" : LockTree(locks).text)
        }
    }

    /// The locks at and below a path. Bytes are compared: a `String` treats differently composed names as equal.
    static func locks(_ locks: [LockListing], below path: String) -> [LockListing] {
        guard !path.isEmpty else { return locks }
        let prefix = Array(path.utf8)
        return locks.filter { lock in
            lock.path.utf8.starts(with: prefix)
                && [nil, UInt8(ascii: "/")].contains(lock.path.utf8.dropFirst(prefix.count).first)
        }
    }
}
