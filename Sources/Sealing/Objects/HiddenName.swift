import Crypto
import CryptoExtras
import Foundation

/// The names of objects that are hashes of contents, as the store has them: who has the store could else find out
/// whether a known file is in the container.
///
/// A last component of 64 hex digits becomes one of 96: the 32 bytes in AES-256-GCM-SIV under the naming key, with the
/// nonce 0. That mode is made for nonces that repeat: equal names give equal names, and nothing else shows. So the name
/// can be found again in a listing, which a keyed hash would not allow.
struct HiddenName: Sendable {
    private static let digitCount = 64
    private static let hiddenDigitCount = 96
    private static let nonce = [UInt8](repeating: 0, count: 12)

    let key: SymmetricKey

    /// The key in the store.
    func stored(_ name: String) -> String {
        guard let (directory, bytes) = Self.split(name, digitCount: Self.digitCount),
            let nonce = try? AES.GCM._SIV.Nonce(data: Self.nonce),
            let box = try? AES.GCM._SIV.seal(bytes, using: key, nonce: nonce)
        else { return name }
        return directory + Self.hex(box.ciphertext + box.tag)
    }

    /// The key that the store has under another one; `nil` for one that this container's devices have not written.
    func shown(_ stored: String) -> String? {
        // Nothing of ours keeps such a name.
        if Self.split(stored, digitCount: Self.digitCount) != nil { return nil }
        guard let (directory, bytes) = Self.split(stored, digitCount: Self.hiddenDigitCount) else { return stored }
        guard let box = try? AES.GCM._SIV.SealedBox(combined: Self.nonce + bytes),
            let name = try? AES.GCM._SIV.open(box, using: key)
        else { return nil }
        return directory + Self.hex(name)
    }

    /// The directory with its slash, and the bytes of the last component; `nil` unless that has so many hex digits.
    private static func split(_ name: String, digitCount: Int) -> (String, [UInt8])? {
        let bytes = Array(name.utf8)
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")), bytes.count - slash - 1 == digitCount else {
            return nil
        }
        var values: [UInt8] = []
        for digit in bytes[(slash + 1)...] {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): values.append(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): values.append(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        let pairs = stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
        return (String(decoding: bytes[...slash], as: UTF8.self), pairs)
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
