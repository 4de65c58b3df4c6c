import ArgumentParser
import Daemon
import Foundation
import Model
import Sealing

struct KeyRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Takes the keys of a device away.",
        discussion: """
            What is written from now on it cannot read, and what it writes from now on is refused. It cannot be made to forget what it has \
            read; and if it has keys to the bucket, it can still delete objects there: replace those keys as well.
            """)

    @OptionGroup var place: KeyPlace

    @Argument(help: "The name of the device, or the beginning of its id; see: dewpoint key list")
    var device: String

    func run() async throws {
        var keys = try await place.keys()
        let members = keys.newest.members.filter { $0.isDevice && $0.revokedAt == nil }
        let named = members.filter { $0.name.isBytewiseEqual(to: device) }
        let found =
            named.isEmpty ? members.filter { $0.id.uuidString.lowercased().hasPrefix(device.lowercased()) } : named
        guard let member = found.first else {
            throw CommandFailure(.notFound, "no device \(device) is enrolled; see: dewpoint key list")
        }
        guard found.count == 1 else {
            throw CommandFailure(
                .usage, "\(found.count) devices are called \(device); give the id of one, see: dewpoint key list")
        }
        guard member.id != keys.device else {
            throw CommandFailure(
                .usage,
                "\(member.name.printable) is this device, and would lose the container: revoke it from another one, or remove its "
                    + "state if it is no longer used")
        }
        try await keys.change { change throws(KeyringError) in try change.revoke(member.id) }
        print("\(member.name.printable) is revoked; if it has keys to the store, replace those as well")
    }
}
