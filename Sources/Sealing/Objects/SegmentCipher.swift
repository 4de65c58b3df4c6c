import Crypto
import Foundation
import Remote

/// Encrypts the segments of one object: the STREAM construction of age, with AES-256-GCM.
///
///     nonce = index (88 bits, big-endian) ‖ kind (8 bits)
///
/// The index gives away segments that were moved, the kind an object that was cut or continued.
struct SegmentCipher: Sendable {
    let key: SymmetricKey

    enum Part {
        /// The lengths in the header.
        case lengths
        case segment(Int64, isLast: Bool)

        var nonce: [UInt8] {
            switch self {
            case .lengths: [UInt8](repeating: 0, count: 11) + [2]
            case .segment(let index, let isLast):
                [0, 0, 0] + withUnsafeBytes(of: index.bigEndian) { Array($0) } + [isLast ? 1 : 0]
            }
        }
    }

    /// - Returns: As many bytes, and a tag of 16. They are the library's own memory: uploads are large enough for each copy
    ///   to be felt.
    func seal(_ plaintext: some DataProtocol, _ part: Part, key name: String) throws(StoreError) -> Data {
        do {
            let nonce = part.nonce
            let box = try AES.GCM.seal(plaintext, using: key, nonce: AES.GCM.Nonce(data: nonce))
            // Of the nonce of 12 bytes, the text and the tag; there is none only for nonces of other lengths.
            if let combined = box.combined { return combined.dropFirst(nonce.count) }
            return box.ciphertext + box.tag
        } catch {
            throw StoreError(.invalid, key: name, "cannot be sealed: \(error)")
        }
    }

    /// - Throws: ``StoreError`` with `corrupt` when the bytes are not the ones that were sealed as this part.
    func open(_ sealed: some DataProtocol, _ part: Part, key name: String) throws(StoreError) -> [UInt8] {
        do {
            let tag = Int(SealedLayout.tagByteCount)
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: part.nonce), ciphertext: sealed.dropLast(tag), tag: sealed.suffix(tag))
            return Array(try AES.GCM.open(box, using: key))
        } catch {
            throw Self.damage(name)
        }
    }

    static func damage(_ key: String) -> StoreError {
        StoreError(.corrupt, key: key, "changed since it was sealed, or not sealed for this place")
    }
}
