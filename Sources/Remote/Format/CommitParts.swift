import Foundation
import Model

/// The text of a commit, decoded one entry at a time: values that are no entries, of which there may be millions, are
/// skipped.
struct CommitParts {
    /// The most JSON values in an entry: more than any record needs, and few enough to be decoded in little memory.
    static let valueLimit = 1 << 18
    /// The longest member of the commit itself, in bytes: 64 KiB.
    static let memberByteLimit = 64 << 10

    enum List: String {
        case records, tombstones, condemned

        /// No valid entry is shorter: it has an id, or the end of a key.
        var entryByteMinimum: Int {
            switch self {
            case .records: 200
            case .tombstones: 50
            case .condemned: 40
            }
        }
    }

    private let text: [UInt8]
    private let key: String
    private let members: [String: JSONScan.Value]
    private let decoder = JSONDecoder()

    /// - Throws: ``StoreError`` with `corrupt` when it is no JSON object.
    init(_ text: [UInt8], key: String) throws(StoreError) {
        self.text = text
        self.key = key
        let lists = [List.records, .tombstones, .condemned].map(\.rawValue)
        var scan = JSONScan(text)
        do throws(JSONScan.Failure) {
            members = try scan.object(Set(CommitHead.names + lists))
        } catch {
            throw StoreError(.corrupt, key: key, "not a JSON object, from byte \(error.offset) on")
        }
    }

    /// The commit's own members.
    func head() throws(StoreError) -> CommitHead {
        var object = Array("{".utf8)
        for name in CommitHead.names {
            guard let range = members[name]?.range else { continue }
            guard range.count <= Self.memberByteLimit else {
                // As every device does that knows no such member.
                if name == CommitHead.heartbeatName { continue }
                throw StoreError(.corrupt, key: key, "\(name): \(range.count) bytes")
            }
            if object.count > 1 { object.append(UInt8(ascii: ",")) }
            object += Array("\"\(name)\":".utf8) + text[range]
        }
        return try ContainerCoding.decode(CommitHead.self, from: object + Array("}".utf8), key: key)
    }

    /// Passes on the entries of a list that can be decoded.
    ///
    /// - Throws: ``StoreError`` with `corrupt` when there is no such list.
    func forEach<Entry: Decodable>(
        _ list: List, as type: Entry.Type, rejecting rejected: inout DecodedCommit.Rejections,
        _ body: (Entry, inout DecodedCommit.Rejections) -> Void
    ) throws(StoreError) {
        guard let range = members[list.rawValue]?.range, !(list == .condemned && isNull(range)) else {
            if list == .condemned { return }
            throw StoreError(.corrupt, key: key, "\(list.rawValue) is missing")
        }
        var scan = JSONScan(text, in: range)
        do throws(JSONScan.Failure) {
            while let value = try scan.nextElement() {
                // Most invalid values are recognised without decoding them.
                guard value.range.count >= list.entryByteMinimum, value.valueCount <= Self.valueLimit else {
                    rejected.add(
                        "\(label(value.range)): its size is \(value.range.count), its value count \(value.valueCount)")
                    continue
                }
                do {
                    body(try entry(type, in: value.range), &rejected)
                } catch {
                    rejected.add("\(label(value.range)): \(DecodingFault.sentence(error))")
                }
            }
        } catch {
            throw StoreError(.corrupt, key: key, "\(list.rawValue) is not a list")
        }
    }

    private func entry<Entry: Decodable>(_ type: Entry.Type, in range: Range<Int>) throws -> Entry {
        let entry = try decoder.decode(type, from: Data(text[range]))
        guard var record = entry as? ItemRecord, !record.xattrs.isEmpty else { return entry }
        record.xattrs = try CommitText.attributes(in: range, of: text, decoder: decoder)
        return record as? Entry ?? entry
    }

    private func isNull(_ range: Range<Int>) -> Bool { text[range].elementsEqual("null".utf8) }

    /// The id of an entry, as far as it can be read; otherwise its position.
    private func label(_ range: Range<Int>) -> String {
        guard range.count <= Self.memberByteLimit,
            let id = try? decoder.decode(Identity.self, from: Data(text[range])).id
        else { return "entry without an id at byte \(range.lowerBound)" }
        return id
    }

    private struct Identity: Decodable {
        let id: String
    }
}

/// ``Commit`` without its lists.
struct CommitHead: Decodable {
    let sequence: CommitNumber
    let device: DeviceID
    let deviceName: String
    let time: Timestamp
    let nonce: UUID
    let previous: UUID?
    /// `nil` also for what is no promise: other devices know no such member.
    let heartbeat: Int?

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case format, sequence, device, deviceName, time, nonce, previous, heartbeat
    }

    static var names: [String] { CodingKeys.allCases.map(\.rawValue) }
    static let heartbeatName = CodingKeys.heartbeat.rawValue

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
        let promise = try? container.decodeIfPresent(Int.self, forKey: .heartbeat)
        heartbeat = promise.flatMap { Commit.heartbeatRange.contains($0) ? $0 : nil }
    }
}
