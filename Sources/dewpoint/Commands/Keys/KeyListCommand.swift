import ArgumentParser
import Daemon
import Foundation
import Model
import Sealing

struct KeyListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the devices of an encrypted container, and what else opens it.",
        discussion: "A star marks this device. What was revoked is listed too: old changes are verified with its key.")

    @OptionGroup var place: KeyPlace

    @Flag(help: "Print JSON.")
    var json = false

    private struct Report: Encodable {
        let version: Int
        let epoch: UInt32
        let members: [Member]
    }

    private struct Member: Encodable {
        let id: String
        let name: String
        let role: String
        let revoked: Bool
        let isThisDevice: Bool
    }

    func run() async throws {
        let keys = try await place.keys()
        let ring = keys.newest
        let members = ring.members.map { member in
            Member(
                id: member.id.uuidString.lowercased(), name: member.name, role: member.role.rawValue,
                revoked: member.revokedAt != nil, isThisDevice: member.id == keys.device)
        }
        if json {
            return try JSONOutput.print(Report(version: ring.number, epoch: ring.epoch, members: members))
        }
        print(
            TextTable.text(
                [["", "ID", "ROLE", "NAME"]]
                    + members.map { member in
                        [
                            member.isThisDevice ? "*" : "", String(member.id.prefix(8)),
                            member.revoked ? "revoked" : member.role, member.name,
                        ]
                    }))
        print("keyring \(ring.number), epoch \(ring.epoch)")
    }
}
