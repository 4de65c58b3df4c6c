import Foundation
import Model
import Synchronization

@testable import Remote
import TestStores

/// Values for tests that do not depend on their details.
enum Samples {
    static func uuid(_ number: Int) -> UUID {
        UUID(uuidString: "00000000-0000-4000-8000-" + String(format: "%012x", number))!
    }

    static func id(_ number: Int) -> ItemID { ItemID(uuid: uuid(number)) }

    static let device = DeviceID(uuid: uuid(0xd1))

    static func name(_ text: String) -> ItemName { try! ItemName(text) }

    static let identity = ContainerIdentity(
        id: ContainerIdentifier("iCloud.com.example.Notes")!, uuid: uuid(0xc1),
        created: Timestamp(rawValue: 1_700_000_000),
        settings: .init(name: "Notes", documentScopePublic: true, folderLevels: .any))

    static func record(_ number: Int, name: String = "a") -> ItemRecord {
        ItemRecord(
            id: id(number), parent: .root, name: Samples.name(name), kind: .file, mode: 0o644,
            modified: Timestamp(rawValue: 1), size: 0, content: .inline(.empty), device: device, base: 0)
    }

    static func commit(_ sequence: CommitNumber, nonce: Int = 1, records: [ItemRecord] = []) -> Commit {
        Commit(
            sequence: sequence, device: device, deviceName: "desk", time: Timestamp(rawValue: 2), nonce: uuid(nonce),
            records: records, tombstones: [])
    }

    /// Pseudorandom bytes that are different for each seed.
    static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        return [UInt8](unsafeUninitializedCapacity: count + 8) { buffer, written in
            for offset in stride(from: 0, to: count, by: 8) {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                UnsafeMutableRawBufferPointer(buffer).storeBytes(
                    of: (state ^ state >> 29).littleEndian, toByteOffset: offset, as: UInt64.self)
            }
            written = count
        }
    }

    /// Returns a function that returns the ids `first`, `first` + 1, `first` + 2 …
    static func counter(from first: Int = 1) -> @Sendable () -> PackID {
        let next = SharedMutex(Mutex(first))
        return {
            next.value.withLock { next in
                defer { next += 1 }
                return id(next)
            }
        }
    }
}
