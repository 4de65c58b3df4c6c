import Foundation
package import Model

/// A commit as it was read: the records that keep to the format, and what was wrong with the others.
///
/// One bad record must not stop the rest of the log, and every device must drop the same ones, so that all keep the same
/// state: what is dropped depends on the commit's bytes alone.
package struct ReadCommit: Hashable, Sendable {
    package let commit: Commit
    /// For each record or tombstone left out: its id as far as there is one, and the reason.
    package let rejected: [String]

    /// - Throws: ``StoreError`` with `corrupt` when the commit cannot be understood at all, `invalid` when it is of a newer
    ///   format.
    init(text: [UInt8], sequence: CommitNumber, key: String) throws(StoreError) {
        let body = try ContainerCoding.decode(CommitBody.self, from: text, key: key)
        guard body.sequence == sequence else {
            throw StoreError(.corrupt, key: key, "it says that it is commit \(body.sequence)")
        }
        var rejected: [String] = []
        var seen: Set<ItemID> = []
        var records: [ItemRecord] = []
        for entry in body.records {
            switch entry {
            case .bad(let reason): rejected.append(reason)
            case .good(let record):
                if let fault = record.fault(in: sequence) {
                    rejected.append("\(record.id): \(fault)")
                } else if !seen.insert(record.id).inserted {
                    rejected.append("\(record.id): a second record")
                } else {
                    records.append(record)
                }
            }
        }
        var tombstones: [Commit.Tombstone] = []
        for entry in body.tombstones {
            switch entry {
            case .bad(let reason): rejected.append(reason)
            case .good(let tombstone):
                if tombstone.id == .root || tombstone.base >= sequence {
                    rejected.append("\(tombstone.id): a tombstone based on commit \(tombstone.base)")
                } else if !seen.insert(tombstone.id).inserted {
                    rejected.append("\(tombstone.id): a tombstone for what the same commit sets or removes")
                } else {
                    tombstones.append(tombstone)
                }
            }
        }
        var condemned: [CondemnedObject] = []
        for entry in body.condemned {
            switch entry {
            case .bad(let reason): rejected.append(reason)
            case .good(let object): condemned.append(object)
            }
        }
        commit = Commit(
            sequence: sequence, device: body.device, deviceName: Self.cut(body.deviceName), time: body.time,
            nonce: body.nonce, previous: body.previous, records: records, tombstones: tombstones,
            condemned: condemned.isEmpty ? nil : condemned)
        self.rejected = rejected
    }

    private static func cut(_ name: String) -> String {
        var name = name
        while name.utf8.count > Commit.deviceNameByteLimit { name.unicodeScalars.removeLast() }
        return name
    }
}

/// ``Commit`` with entries that may be bad.
private struct CommitBody: Decodable {
    let sequence: CommitNumber
    let device: DeviceID
    let deviceName: String
    let time: Timestamp
    let nonce: UUID
    let previous: UUID?
    let records: [Entry<ItemRecord>]
    let tombstones: [Entry<Commit.Tombstone>]
    let condemned: [Entry<CondemnedObject>]

    private enum CodingKeys: String, CodingKey {
        case format, sequence, device, deviceName, time, nonce, previous, records, tombstones, condemned
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let format = try container.decode(Int.self, forKey: .format)
        guard format <= Commit.format else { throw NewerFormat(format: format, supported: Commit.format) }
        guard format >= 1 else {
            throw DecodingError.dataCorruptedError(forKey: .format, in: container, debugDescription: "not a format")
        }
        sequence = try container.decode(CommitNumber.self, forKey: .sequence)
        device = try container.decode(DeviceID.self, forKey: .device)
        deviceName = try container.decode(String.self, forKey: .deviceName)
        time = try container.decode(Timestamp.self, forKey: .time)
        nonce = try container.decode(UUID.self, forKey: .nonce)
        previous = try container.decodeIfPresent(UUID.self, forKey: .previous)
        records = try container.decode([Entry<ItemRecord>].self, forKey: .records)
        tombstones = try container.decode([Entry<Commit.Tombstone>].self, forKey: .tombstones)
        condemned = try container.decodeIfPresent([Entry<CondemnedObject>].self, forKey: .condemned) ?? []
    }
}

/// A value of a list, or why it is none.
private enum Entry<Value: Decodable>: Decodable {
    case good(Value)
    case bad(String)

    private enum CodingKeys: String, CodingKey { case id }

    init(from decoder: any Decoder) throws {
        do {
            self = .good(try Value(from: decoder))
        } catch {
            // Without even an id the place in the list has to do.
            let id = try? decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .id)
            self = .bad("\(id ?? "entry without an id"): \(ContainerCoding.reason(error))")
        }
    }
}
