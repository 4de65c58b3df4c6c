import Foundation
package import Model

/// A commit as it was read: the valid records, and the errors of the others.
///
/// One invalid record must not block the rest of the log, and every device must drop the same ones, so that all keep
/// the same state: the decision depends on the commit's bytes alone. An invalid record costs no memory, and hardly more
/// time than its bytes.
package struct DecodedCommit: Hashable, Sendable {
    package let commit: Commit
    package let rejected: Rejections

    /// The records and tombstones that were dropped.
    package struct Rejections: Hashable, Sendable {
        /// How many are reported with their reasons.
        package static let exampleLimit = 20

        package private(set) var count = 0
        /// The first ones: the id as far as it can be read, and the reason.
        package private(set) var examples: [String] = []

        package var isEmpty: Bool { count == 0 }

        /// - Parameter reason: Evaluated for the first ones only.
        mutating func add(_ reason: @autoclosure () -> String) {
            if count < Self.exampleLimit { examples.append(reason()) }
            count += 1
        }
    }

    /// - Throws: ``StoreError`` with `corrupt` when the commit cannot be decoded at all, `invalid` when it has a newer
    ///   format.
    package init(text: [UInt8], sequence: CommitNumber, key: String) throws(StoreError) {
        let parts = try CommitParts(text, key: key)
        let head = try parts.head()
        guard head.sequence == sequence else {
            throw StoreError(.corrupt, key: key, "it states the number \(head.sequence)")
        }
        var rejected = Rejections()
        var seen: Set<ItemID> = []
        var records: [ItemRecord] = []
        try parts.forEach(.records, as: ItemRecord.self, rejecting: &rejected) { record, rejected in
            if let fault = record.fault(in: sequence) {
                rejected.add("\(record.id): \(fault)")
            } else if !seen.insert(record.id).inserted {
                rejected.add("\(record.id): a second record")
            } else {
                records.append(record)
            }
        }
        var tombstones: [Commit.Tombstone] = []
        try parts.forEach(.tombstones, as: Commit.Tombstone.self, rejecting: &rejected) { tombstone, rejected in
            if tombstone.id == .root || tombstone.base >= sequence {
                rejected.add("\(tombstone.id): a tombstone based on commit \(tombstone.base)")
            } else if !seen.insert(tombstone.id).inserted {
                rejected.add("\(tombstone.id): a tombstone for an item that the same commit sets or removes")
            } else {
                tombstones.append(tombstone)
            }
        }
        var condemned: [CondemnedObject] = []
        try parts.forEach(.condemned, as: CondemnedObject.self, rejecting: &rejected) { object, _ in
            condemned.append(object)
        }
        commit = Commit(
            sequence: sequence, device: head.device, deviceName: Self.cut(head.deviceName), time: head.time,
            nonce: head.nonce, previous: head.previous, heartbeat: head.heartbeat, records: records,
            tombstones: tombstones, condemned: condemned.isEmpty ? nil : condemned)
        self.rejected = rejected
    }

    private static func cut(_ name: String) -> String {
        var name = name
        while name.utf8.count > Commit.deviceNameByteLimit { name.unicodeScalars.removeLast() }
        return name
    }
}
