package import Foundation

/// One atomic entry of the container's change log, the object `log/SEQUENCE`.
///
/// It is not `Decodable`: `DecodedCommit` alone reads it, record by record, with the names of attributes by their bytes.
package struct Commit: Hashable, Sendable, Encodable {
    /// The version of the container format; a reader refuses a higher one.
    package static let format = 1

    /// The highest number that a commit can have: sums of numbers cannot overflow.
    package static let highestNumber: CommitNumber = 1 << 62

    /// The longest name of a device in bytes; longer ones are cut when they are read, since names only serve people.
    package static let deviceNameByteLimit = 255

    /// The promises that readers keep account of: 1 minute to 30 days.
    package static let heartbeatRange = 60...2_592_000

    package var format: Int
    package var sequence: CommitNumber
    package var device: DeviceID
    /// The device's human name, at most 255 bytes.
    package var deviceName: String
    package var time: Timestamp
    /// Random for each attempt, so that a writer whose PUT timed out can tell whether it landed.
    package var nonce: UUID
    /// The nonce of the previous commit, on which this one is based; `nil` in the first one, in those of older writers,
    /// and where its writer does not know it.
    package var previous: UUID?
    package var records: [ItemRecord]
    package var tombstones: [Tombstone]
    /// Within how many seconds its device promises another commit, in ``heartbeatRange``; `nil` when it promises none.
    package var heartbeat: Int?
    /// Objects that nothing refers to in the previous state, and that nothing may refer to from here on; `nil` for
    /// none.
    package var condemned: [CondemnedObject]?

    /// An item that was deleted.
    package struct Tombstone: Hashable, Sendable, Codable {
        package var id: ItemID
        /// The sequence of the state that was deleted.
        package var base: CommitNumber

        package init(id: ItemID, base: CommitNumber) {
            self.id = id
            self.base = base
        }
    }

    package init(
        sequence: CommitNumber, device: DeviceID, deviceName: String, time: Timestamp, nonce: UUID,
        previous: UUID? = nil, heartbeat: Int? = nil, records: [ItemRecord], tombstones: [Tombstone],
        condemned: [CondemnedObject]? = nil
    ) {
        format = Self.format
        self.sequence = sequence
        self.device = device
        self.deviceName = deviceName
        self.time = time
        self.nonce = nonce
        self.previous = previous
        self.heartbeat = heartbeat
        self.records = records
        self.tombstones = tombstones
        self.condemned = condemned
    }
}
