import Crypto
import Linux
import Model

/// The hash of a whole file, as a remote has it.
struct SourceHash: Hashable, Sendable {
    /// Those that can be computed here, the best first, by rclone's names.
    enum Kind: String, CaseIterable, Sendable {
        case sha256, sha1, md5

        /// For people.
        var name: String {
            switch self {
            case .sha256: "SHA-256"
            case .sha1: "SHA-1"
            case .md5: "MD5"
            }
        }
    }

    let kind: Kind
    /// In hexadecimal digits, in lower case.
    let digits: String

    /// - Returns: `nil` when these are no digits of such a hash: a store may have none for some files.
    init?(_ kind: Kind, _ digits: String?) {
        guard let digits, !digits.isEmpty, digits.utf8.allSatisfy({ Self.isDigit($0) }) else { return nil }
        self.kind = kind
        self.digits = digits.lowercased()
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    /// Whether a file has it. Reads the file.
    func matches(_ file: Descriptor) throws(FileError) -> Bool {
        let found =
            switch kind {
            case .sha256: try Self.digits(SHA256(), file)
            case .sha1: try Self.digits(Insecure.SHA1(), file)
            case .md5: try Self.digits(Insecure.MD5(), file)
            }
        return found.isBytewiseEqual(to: digits)
    }

    /// How many bytes are read at a time: 1 MiB.
    private static let readByteCount = 1 << 20

    private static func digits(_ function: some HashFunction, _ file: Descriptor) throws(FileError) -> String {
        var function = function
        var offset: Int64 = 0
        while true {
            let bytes = try file.read(byteCount: readByteCount, at: offset)
            if bytes.isEmpty { break }
            bytes.withUnsafeBytes { function.update(bufferPointer: $0) }
            offset += Int64(bytes.count)
        }
        let hexadecimal = Array("0123456789abcdef".utf8)
        var digits: [UInt8] = []
        for byte in function.finalize() { digits += [hexadecimal[Int(byte >> 4)], hexadecimal[Int(byte & 15)]] }
        return String(decoding: digits, as: UTF8.self)
    }
}
