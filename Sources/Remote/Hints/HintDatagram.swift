import Crypto
import Foundation
package import Model

/// A hint as a datagram; Format describes the bytes.
///
///     0   "DWPH"
///     4   version, 1
///     5   tag of the day, 8 bytes
///     13  nonce, 12 bytes; then AES-256-GCM with the bytes before as associated data:
///           0   device, 16 bytes
///           16  commit number, big-endian
///           24  time, nanoseconds since 1970, big-endian
///           32  hash of the commit, 32 bytes; absent where there is none
///         authentication tag, 16 bytes
package enum HintDatagram {
    /// The longest that is looked at, in bytes: later versions may add members at the end.
    package static let byteLimit = 512

    private static let magic = Array("DWPH".utf8) + [1]
    private static let headByteCount = magic.count + HintKey.tagByteCount
    private static let nonceByteCount = 12
    private static let sealByteCount = 16
    private static let plainByteCount = 32
    private static let hashByteCount = 32
    /// The tag is that of the sender's day, whose clock may be wrong or on the other side of midnight.
    private static let days: [Int64] = [0, -1, 1]

    /// - Returns: `nil` when there is nothing to encrypt it with.
    package static func encode(_ hint: CommitHint, _ key: HintKey) -> [UInt8]? {
        guard let uuid = UUID(uuidString: hint.device.description)?.uuid else { return nil }
        var plain = withUnsafeBytes(of: uuid) { Array($0) }
        plain += withUnsafeBytes(of: hint.number.bigEndian) { Array($0) }
        plain += withUnsafeBytes(of: hint.time.rawValue.bigEndian) { Array($0) }
        if let hash = hint.hash, hash.count == hashByteCount { plain += hash }
        let head = magic + key.tag(ofDay: day(hint.time))
        guard let box = try? AES.GCM.seal(plain, using: key.key, authenticating: head), let sealed = box.combined else {
            return nil
        }
        return head + sealed
    }

    /// - Parameter now: By this device's clock.
    /// - Returns: `nil` for a datagram of another container, another program or another version, and a damaged or forged
    ///   one.
    package static func decode(_ bytes: [UInt8], _ key: HintKey, now: Timestamp) -> CommitHint? {
        guard bytes.count >= headByteCount + nonceByteCount + plainByteCount + sealByteCount,
            bytes.count <= byteLimit, bytes.starts(with: magic)
        else { return nil }
        let tag = bytes[magic.count..<headByteCount]
        guard days.contains(where: { tag.elementsEqual(key.tag(ofDay: day(now) + $0)) }),
            let box = try? AES.GCM.SealedBox(combined: bytes[headByteCount...]),
            let plain = try? AES.GCM.open(box, using: key.key, authenticating: bytes[..<headByteCount])
        else { return nil }
        return hint([UInt8](plain))
    }

    private static func hint(_ plain: [UInt8]) -> CommitHint? {
        func integer(_ offset: Int) -> UInt64 { plain[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: plain[..<16]) }
        let number = integer(16)
        guard number <= Commit.highestNumber else { return nil }
        let hasHash = plain.count >= plainByteCount + hashByteCount
        return CommitHint(
            device: DeviceID(uuid: UUID(uuid: uuid)), number: number,
            time: Timestamp(rawValue: Int64(bitPattern: integer(24))),
            hash: hasHash ? Data(plain[plainByteCount..<plainByteCount + hashByteCount]) : nil)
    }

    private static func day(_ time: Timestamp) -> Int64 {
        let day: Int64 = 86_400_000_000_000
        let (quotient, remainder) = time.rawValue.quotientAndRemainder(dividingBy: day)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
