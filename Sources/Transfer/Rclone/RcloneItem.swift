import Foundation
import Model

/// One file or directory of a remote, as `rclone lsjson` prints it.
struct RcloneItem: Equatable, Sendable {
    /// Below the directory that is imported; not checked.
    let path: ItemPath
    let isDirectory: Bool
    /// `nil` when the remote does not know it: of a document that is made when it is fetched.
    let byteCount: Int64?
    let modified: Timestamp
    let hash: SourceHash?

    /// The members of the JSON object that are used.
    private struct Line: Decodable {
        struct Hashes: Decodable {
            var sha256: String?
            var sha1: String?
            var md5: String?
        }

        var path: ItemPath
        var byteCount: Int64
        var modified: String
        var isDirectory: Bool
        var hashes: Hashes?

        enum CodingKeys: String, CodingKey {
            case path = "Path"
            case byteCount = "Size"
            case modified = "ModTime"
            case isDirectory = "IsDir"
            case hashes = "Hashes"
        }
    }

    /// - Parameter text: One JSON object.
    init(_ text: [UInt8]) throws(FileError) {
        guard let line = try? ForeignJSON.decode(Line.self, from: Data(text)) else {
            throw FileError(.invalid, "rclone printed a listing that is not one of rclone lsjson")
        }
        path = line.path
        isDirectory = line.isDirectory
        byteCount = line.isDirectory || line.byteCount < 0 ? nil : line.byteCount
        // One strange time does not keep the others from being imported.
        modified = Self.time(line.modified) ?? Timestamp(seconds: 0, nanoseconds: 0)
        hash =
            SourceHash(.sha256, line.hashes?.sha256) ?? SourceHash(.sha1, line.hashes?.sha1)
            ?? SourceHash(.md5, line.hashes?.md5)
    }

    /// A time of RFC 3339 in any zone: rclone prints the local one.
    private static func time(_ text: String) -> Timestamp? {
        if let time = Timestamp(rfc3339: text) { return time }
        let bytes = Array(text.utf8)
        guard bytes.count > 6 else { return nil }
        let zone = bytes.suffix(6).map { $0 }
        let digits = [1, 2, 4, 5].compactMap { index -> Int64? in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(zone[index])
                ? Int64(zone[index]) - Int64(UInt8(ascii: "0")) : nil
        }
        guard digits.count == 4, zone[3] == UInt8(ascii: ":"),
            zone[0] == UInt8(ascii: "+") || zone[0] == UInt8(ascii: "-"),
            let time = Timestamp(rfc3339: String(decoding: bytes.dropLast(6), as: UTF8.self) + "Z")
        else { return nil }
        let seconds = ((digits[0] * 10 + digits[1]) * 60 + digits[2] * 10 + digits[3]) * 60
        return time.advanced(by: .seconds(zone[0] == UInt8(ascii: "+") ? -seconds : seconds))
    }
}
