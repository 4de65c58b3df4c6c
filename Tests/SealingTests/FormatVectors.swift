import Foundation
import Testing

@testable import Sealing

/// The block of test vectors in the page "The container format".
struct FormatVectors {
    private struct Line {
        let name: String
        var value: String
    }

    private static let heading = "\n### Test vectors\n"
    private static let fence = "```\n"
    /// Of a name, filled with spaces.
    private static let nameWidth = 30

    static let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/Model/Documentation.docc/Format.md").standardizedFileURL

    private var lines: [Line] = []

    init() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let section = try #require(text.range(of: Self.heading)).upperBound
        let start = try #require(text[section...].range(of: Self.fence)).upperBound
        let end = try #require(text[start...].range(of: Self.fence)).lowerBound
        for line in text[start..<end].split(separator: "\n") {
            let name = line.prefix(Self.nameWidth).trimmingCharacters(in: .whitespaces)
            let value = String(line.dropFirst(Self.nameWidth))
            if name.isEmpty {
                let last = try #require(lines.indices.last)
                // A list is broken at its spaces, other values are within themselves.
                let isList = lines[last].value.hasSuffix(",") || lines[last].value.hasSuffix(":")
                lines[last].value += (isList ? " " : "") + value
            } else {
                lines.append(Line(name: name, value: value))
            }
        }
    }

    func text(_ name: String) throws -> String {
        let found = lines.filter { $0.name == name }
        try #require(found.count == 1, "\(name)")
        return found[0].value
    }

    func bytes(_ name: String) throws -> [UInt8] {
        let text = Array(try text(name).utf8)
        try #require(text.count % 2 == 0, "\(name)")
        return try stride(from: 0, to: text.count, by: 2).map { place in
            try #require(UInt8(String(decoding: text[place..<place + 2], as: UTF8.self), radix: 16), "\(name)")
        }
    }

    func data(_ name: String) throws -> Data { Data(try bytes(name)) }

    func uuid(_ name: String) throws -> UUID { try #require(UUID(uuidString: try text(name))) }

    /// What a list says of each length.
    func lengths(_ name: String) throws -> [(byteCount: Int64, padded: Int64)] {
        try text(name).split(separator: ", ").map { pair in
            let numbers = try pair.split(separator: ": ").map { try #require(Int64($0)) }
            try #require(numbers.count == 2)
            return (numbers[0], numbers[1])
        }
    }
}
