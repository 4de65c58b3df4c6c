package import Foundation

/// The description of a container as a device has seen it: what the container is called, and its quota.
package struct SeenDescription: Hashable, Sendable {
    private static let hashByteCount = 32

    /// The SHA-256 of its bytes.
    let hash: Data
    /// How many changes it has seen, as the one who changed it counted.
    let number: UInt64

    init(hash: Data, number: UInt64) {
        self.hash = hash
        self.number = number
    }

    /// - Parameter bytes: Of ``bytes``, or only the hash.
    package init?(bytes: Data) {
        guard [Self.hashByteCount, Self.hashByteCount + 8].contains(bytes.count) else { return nil }
        hash = Data(bytes.prefix(Self.hashByteCount))
        number = bytes.dropFirst(Self.hashByteCount).reduce(0) { $0 << 8 | UInt64($1) }
    }

    package var bytes: Data { hash + Self.bigEndian(number) }

    private static func bigEndian(_ number: UInt64) -> Data { withUnsafeBytes(of: number.bigEndian) { Data($0) } }

    // MARK: In an endorsement

    /// What stands in the place of the predecessor's hash: the number, in the last of its bytes.
    static func predecessor(_ number: UInt64) -> Data { Data(count: hashByteCount - 8) + bigEndian(number) }

    /// - Returns: 0 for what is no number.
    static func number(of predecessor: Data) -> UInt64 {
        guard predecessor.dropLast(8).allSatisfy({ $0 == 0 }) else { return 0 }
        return predecessor.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
