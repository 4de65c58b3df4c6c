import Foundation
import Model

/// The text of a manifest, decoded in parts: a list of millions of chunks takes hardly more memory than its text.
struct ManifestText {
    /// How many JSON values are decoded at a time.
    static let valuesPerStep = 1 << 14

    private let text: [UInt8]
    private let key: String

    init(_ text: [UInt8], key: String) {
        self.text = text
        self.key = key
    }

    /// - Throws: ``StoreError`` with `corrupt` when it is no list of runs.
    func content() throws(StoreError) -> Content {
        let members = try members(["runs"], in: 0..<text.count)
        guard let runs = members["runs"] else { throw corrupt("runs is missing") }
        return Content(runs: try elements(Content.Run.self, in: runs) { run throws(StoreError) in try self.run(run) })
    }

    /// Decodes a run of very many chunks.
    private func run(_ range: Range<Int>) throws(StoreError) -> Content.Run {
        let members = try members(["pack", "offset", "zeros", "chunks"], in: range)
        guard members["zeros"].map({ text[$0].elementsEqual("null".utf8) }) ?? true, let pack = members["pack"],
            let offset = members["offset"], let chunks = members["chunks"]
        else { throw corrupt("an invalid run") }
        return .stored(
            pack: try ContainerCoding.decode(PackID.self, from: Array(text[pack]), key: key),
            offset: try ContainerCoding.decode(Int64.self, from: Array(text[offset]), key: key),
            chunks: try elements(Content.Chunk.self, in: chunks) { _ throws(StoreError) in
                throw self.corrupt("an invalid chunk")
            })
    }

    // MARK: Lists

    /// Decodes a list, some elements at a time.
    ///
    /// - Parameter large: Decodes an element of more than ``valuesPerStep`` values.
    private func elements<Element: Decodable>(
        _ type: Element.Type, in list: Range<Int>, large: (Range<Int>) throws(StoreError) -> Element
    ) throws(StoreError) -> [Element] {
        var scan = JSONScan(text, in: list)
        var elements: [Element] = []
        var batch: Range<Int>?
        var valueCount = 0
        while let value = try next(in: &scan) {
            if valueCount + value.valueCount > Self.valuesPerStep, let full = batch {
                elements += try decode(type, listed: full)
                (batch, valueCount) = (nil, 0)
            }
            if value.valueCount > Self.valuesPerStep {
                elements.append(try large(value.range))
            } else {
                batch = (batch?.lowerBound ?? value.range.lowerBound)..<value.range.upperBound
                valueCount += value.valueCount
            }
        }
        if let batch { elements += try decode(type, listed: batch) }
        return elements
    }

    /// Decodes adjacent elements.
    private func decode<Element: Decodable>(
        _ type: Element.Type, listed range: Range<Int>
    ) throws(StoreError) -> [Element] {
        let list = [UInt8(ascii: "[")] + text[range] + [UInt8(ascii: "]")]
        return try ContainerCoding.decode([Element].self, from: list, key: key)
    }

    private func next(in scan: inout JSONScan) throws(StoreError) -> JSONScan.Value? {
        do throws(JSONScan.Failure) { return try scan.nextElement() } catch { throw corrupt(error) }
    }

    private func members(_ names: Set<String>, in range: Range<Int>) throws(StoreError) -> [String: Range<Int>] {
        var scan = JSONScan(text, in: range)
        do throws(JSONScan.Failure) { return try scan.object(names).mapValues(\.range) } catch { throw corrupt(error) }
    }

    private func corrupt(_ failure: JSONScan.Failure) -> StoreError {
        corrupt("not a list of runs, from byte \(failure.offset) on")
    }

    private func corrupt(_ detail: String) -> StoreError { StoreError(.corrupt, key: key, detail) }
}
