import Foundation
import Model

/// What a remote can, as far as an import depends on it: the answer of `rclone backend features`.
struct RcloneFeatures: Equatable, Sendable {
    /// The best hash that the remote has and that can be computed here; `nil` without one.
    let hashKind: SourceHash.Kind?
    /// Whether the remote must read a file for its hash, so that hashes are asked for only where they are needed.
    let hashesAreSlow: Bool
    /// Whether directories are made up from the names of objects, and have no time.
    let isBucket: Bool

    private struct Answer: Decodable {
        struct Features: Decodable {
            var hashesAreSlow: Bool?
            var isBucket: Bool?

            enum CodingKeys: String, CodingKey {
                case hashesAreSlow = "SlowHash"
                case isBucket = "BucketBased"
            }
        }

        var hashes: [String]?
        var features: Features?

        enum CodingKeys: String, CodingKey {
            case hashes = "Hashes"
            case features = "Features"
        }
    }

    init(_ answer: [UInt8]) throws(FileError) {
        guard let answer = try? ForeignJSON.decode(Answer.self, from: Data(answer)) else {
            throw FileError(.invalid, "rclone does not say what the remote can; is this version of rclone very old?")
        }
        let hashes = answer.hashes ?? []
        hashKind = SourceHash.Kind.allCases.first { kind in
            hashes.contains { $0.isBytewiseEqual(to: kind.rawValue) }
        }
        hashesAreSlow = answer.features?.hashesAreSlow ?? false
        isBucket = answer.features?.isBucket ?? false
    }
}
