import Foundation
package import Model

/// A commit as it was read: the records that keep to the format, and what was wrong with the others.
///
/// One bad record must not stop the rest of the log, and every device must drop the same ones, so that all keep the same
/// state: what is dropped depends on the commit's bytes alone. A bad one costs no memory, and hardly more time than its bytes.
package struct DecodedCommit: Hashable, Sendable {
    package let commit: Commit
    package let rejected: Rejections

    /// The records and tombstones that were left out.
    package struct Rejections: Hashable, Sendable {
        /// How many are told with their reasons.
        package static let exampleLimit = 20

        package private(set) var count = 0
        /// The first ones: the id as far as there is one, and the reason.
        package private(set) var examples: [String] = []

        package var isEmpty: Bool { count == 0 }

        /// - Parameter reason: Asked for the first ones only.
        mutating func add(_ reason: @autoclosure () -> String) {
            if count < Self.exampleLimit { examples.append(reason()) }
            count += 1
        }
    }

    /// - Throws: ``StoreError`` with `corrupt` when the commit cannot be understood at all, `invalid` when it is of a newer
    ///   format.
    init(text: [UInt8], sequence: CommitNumber, key: String) throws(StoreError) {
        let parts = try CommitParts(text, key: key)
        let head = try parts.head()
        guard head.sequence == sequence else {
            throw StoreError(.corrupt, key: key, "it says that it is commit \(head.sequence)")
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
                rejected.add("\(tombstone.id): a tombstone for what the same commit sets or removes")
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
            nonce: head.nonce, previous: head.previous, records: records, tombstones: tombstones,
            condemned: condemned.isEmpty ? nil : condemned)
        self.rejected = rejected
    }

    private static func cut(_ name: String) -> String {
        var name = name
        while name.utf8.count > Commit.deviceNameByteLimit { name.unicodeScalars.removeLast() }
        return name
    }
}
