import Foundation

/// Mutates valid JSON by seed: inserts boundary values and values of other types, removes and duplicates members and
/// elements, and changes bytes of the text.
package struct JSONMutation {
    private var state: UInt64

    package init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    /// The number of mutations that a test makes: 2000, or the value of the environment variable `DEWPOINT_FUZZ`.
    package static var count: UInt64 {
        ProcessInfo.processInfo.environment["DEWPOINT_FUZZ"].flatMap { UInt64($0) } ?? 2000
    }

    /// Whether `DEWPOINT_FUZZ` is set: then no other test runs at the same time.
    package static var isAlone: Bool { ProcessInfo.processInfo.environment["DEWPOINT_FUZZ"] != nil }

    /// The peak memory use of this process in bytes. Related: proc(5), `VmHWM`.
    package static var peakByteCount: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }

    /// Numbers and texts at the limits of their ranges, written as JSON.
    private static let ends = [
        "0", "-0", "-1", "1", "1.5", "1e308", "-1e308", "1e999", "127", "128", "255", "256", "4095", "4096", "65535",
        "65536",
        "2147483647", "2147483648", "4294967295", "4294967296", "9007199254740993", "17592186044416", "17592186044417",
        "4611686018427387898", "4611686018427387903", "4611686018427387904", "4611686018427387905",
        "9223372036854775802",
        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
        "18446744073709551615", "18446744073709551616", "null", "true", "false", "[]", "{}", "[[]]", "[null]", "\"\"",
        "\"..\"", "\"a/b\"", "\"\\u0000\"", "\"\\ud800\"", "\"\u{e9}\"", "\"00000000-0000-0000-0000-000000000000\"",
        "\"ffffffff-ffff-ffff-ffff-ffffffffffff\"", "\"\(String(repeating: "a", count: 70_000))\"",
        "[\(String(repeating: "1,", count: 50_000))1]",
        String(repeating: "[", count: 600) + String(repeating: "]", count: 600),
    ]

    private mutating func next(below count: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(max(count, 1)))
    }

    /// A text that differs from `json` in one to three places.
    package mutating func text(of json: Any) throws -> [UInt8] {
        var value = json
        for _ in 0...next(below: 3) { value = mutated(value, depth: 0) }
        var bytes = Self.writingEnds(
            in: try JSONSerialization.data(withJSONObject: value, options: [.fragmentsAllowed, .sortedKeys]))
        if next(below: 8) == 0, !bytes.isEmpty { bytes[next(below: bytes.count)] = UInt8(next(below: 256)) }
        if next(below: 16) == 0 { bytes.removeLast(next(below: bytes.count)) }
        return bytes
    }

    /// A stand-in for one of ``ends`` until the text is written: JSONSerialization would reject most of them.
    private mutating func end() -> Any { "end-\(next(below: Self.ends.count))-end" }

    /// A name at or beyond the limits of length, or a deep path of such names.
    package mutating func longText() -> String {
        let unit = Self.units[next(below: Self.units.count)]
        let byteCount = Self.nameByteCounts[next(below: Self.nameByteCounts.count)]
        let name = String(repeating: unit, count: max(1, byteCount / unit.utf8.count))
        // Most of them are names.
        let depth = next(below: 3) > 0 ? 1 : Self.depths[next(below: Self.depths.count)]
        let count = max(1, min(depth, Self.pathByteLimit / (name.utf8.count + 1)))
        return [String](repeating: name, count: count).joined(separator: "/")
    }

    /// Letters of one to four bytes, one of two scalars, a mark without a letter, and what JSON and terminals escape.
    private static let units = ["n", "é", "e\u{301}", "\u{301}", "语", "🜚", "\"", "\u{7}", "."]
    private static let nameByteCounts = [1, 253, 254, 255, 256, 257, 4095, 4096, 4097, 70_000]
    private static let depths = [2, 16, 17, 600, 5000]
    private static let pathByteLimit = 1 << 18

    private mutating func mutated(_ value: Any, depth: Int) -> Any {
        if depth > 0, value is String, next(below: 5) == 0 { return longText() }
        if depth > 0, next(below: 5) == 0 { return end() }
        if var object = value as? [String: Any],
            let key = object.keys.sorted().dropFirst(next(below: object.count)).first
        {
            switch next(below: 8) {
            case 0: object[key] = nil
            case 1: object["other"] = object[key]
            default: object[key] = object[key].map { mutated($0, depth: depth + 1) }
            }
            return object
        }
        if var list = value as? [Any], !list.isEmpty {
            let index = next(below: list.count)
            switch next(below: 8) {
            case 0: list.remove(at: index)
            case 1: list.append(list[index])
            default: list[index] = mutated(list[index], depth: depth + 1)
            }
            return list
        }
        return end()
    }

    /// Writes each of ``ends`` in the place of its stand-in, in one pass: texts have up to a megabyte.
    private static func writingEnds(in text: Data) -> [UInt8] {
        let (head, tail) = (Data("\"end-".utf8), Data("-end\"".utf8))
        var bytes: [UInt8] = []
        var rest = text
        while let start = rest.range(of: head), let end = rest[start.upperBound...].range(of: tail),
            let index = Int(String(decoding: rest[start.upperBound..<end.lowerBound], as: UTF8.self))
        {
            bytes += rest[..<start.lowerBound]
            bytes += Array(ends[index].utf8)
            rest = rest[end.upperBound...]
        }
        return bytes + rest
    }
}
