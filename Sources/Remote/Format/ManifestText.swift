import Foundation
import Model

/// The text of a manifest, decoded in one pass: a list of millions of chunks takes a second, and little memory besides
/// its text and the list.
struct ManifestText {
    private let text: [UInt8]
    private let key: String
    private let entryLimit: Int

    /// - Parameter entryLimit: The most chunks and holes that it may list.
    init(_ text: [UInt8], key: String, entryLimit: Int = .max) {
        self.text = text
        self.key = key
        self.entryLimit = entryLimit
    }

    /// - Throws: ``StoreError`` with `corrupt` when it is no list of runs, or lists too many.
    func content() throws(StoreError) -> Content {
        var reader = RunReader(JSONScan(text), entryLimit: entryLimit)
        do throws(JSONScan.Failure) {
            return Content(runs: try reader.manifest())
        } catch {
            throw StoreError(
                .corrupt, key: key,
                reader.isTooLong
                    ? "it lists more than \(entryLimit) chunks and holes, the most that a file of this size can have"
                    : "not a list of runs, from byte \(error.offset) on")
        }
    }

    /// The packs that it refers to, without a list of its chunks, which may take more memory than the text.
    ///
    /// - Throws: ``StoreError`` with `corrupt` when it is no list of runs.
    func packs() throws(StoreError) -> Set<PackID> {
        var reader = RunReader(JSONScan(text), entryLimit: entryLimit)
        do throws(JSONScan.Failure) {
            return try reader.packs()
        } catch {
            throw StoreError(.corrupt, key: key, "not a list of runs, from byte \(error.offset) on")
        }
    }
}

/// Decodes runs member by member, without finding the end of each value first.
private struct RunReader {
    private var scan: JSONScan
    private let entryLimit: Int
    private var entryCount = 0
    /// The last pack: most runs of a file are in few.
    private var lastPack: (text: Range<Int>, id: PackID)?

    init(_ scan: JSONScan, entryLimit: Int) {
        self.scan = scan
        self.entryLimit = entryLimit
    }

    /// Whether it stopped because of the limit.
    var isTooLong: Bool { entryCount > entryLimit }

    mutating func manifest() throws(JSONScan.Failure) -> [Content.Run] {
        var runs: [Content.Run] = []
        try forEachRun { reader throws(JSONScan.Failure) in runs.append(try reader.run()) }
        return runs
    }

    mutating func packs() throws(JSONScan.Failure) -> Set<PackID> {
        var packs: Set<PackID> = []
        try forEachRun { reader throws(JSONScan.Failure) in
            var hasMore = try reader.scan.enter("{", "}")
            while hasMore {
                if try reader.scan.memberName(of: ["pack"]) != nil {
                    packs.insert(try reader.pack())
                } else {
                    try reader.scan.skipValue()
                }
                hasMore = try reader.scan.continues(before: "}")
            }
        }
        return packs
    }

    /// - Parameter body: Reads the run that comes next.
    private mutating func forEachRun(
        _ body: (inout RunReader) throws(JSONScan.Failure) -> Void
    ) throws(JSONScan.Failure) {
        var hasRuns = false
        var hasMore = try scan.enter("{", "}")
        while hasMore {
            if try scan.memberName(of: ["runs"]) != nil {
                guard !hasRuns else { throw scan.failure }
                hasRuns = true
                try forEachElement(body)
            } else {
                try scan.skipValue()
            }
            hasMore = try scan.continues(before: "}")
        }
        try scan.expectEnd()
        guard hasRuns else { throw scan.failure }
    }

    private mutating func list<Element>(
        _ element: (inout RunReader) throws(JSONScan.Failure) -> Element
    ) throws(JSONScan.Failure) -> [Element] {
        var elements: [Element] = []
        try forEachElement { reader throws(JSONScan.Failure) in elements.append(try element(&reader)) }
        return elements
    }

    private mutating func forEachElement(
        _ body: (inout RunReader) throws(JSONScan.Failure) -> Void
    ) throws(JSONScan.Failure) {
        var hasMore = try scan.enter("[", "]")
        while hasMore {
            try body(&self)
            hasMore = try scan.continues(before: "]")
        }
    }

    private static let runMembers: [StaticString] = ["pack", "offset", "chunks", "zeros"]
    private static let chunkMembers: [StaticString] = ["hash", "byteCount", "head"]

    private mutating func run() throws(JSONScan.Failure) -> Content.Run {
        var pack: PackID?
        var offset: Int64?
        var chunks: [Content.Chunk]?
        var zeros: Int64?
        var hasMore = try scan.enter("{", "}")
        while hasMore {
            switch try scan.memberName(of: Self.runMembers) {
            case 0: try set(&pack) { reader throws(JSONScan.Failure) in try reader.pack() }
            case 1: try set(&offset) { reader throws(JSONScan.Failure) in try reader.scan.integer() }
            case 2:
                try set(&chunks) { reader throws(JSONScan.Failure) in
                    try reader.list { reader throws(JSONScan.Failure) in try reader.chunk() }
                }
            case 3:
                if try scan.takeNull() { break }
                try set(&zeros) { reader throws(JSONScan.Failure) in try reader.scan.integer() }
            default: try scan.skipValue()
            }
            hasMore = try scan.continues(before: "}")
        }
        if let zeros {
            try countEntry()
            return .zeros(byteCount: zeros)
        }
        guard let pack, let offset, let chunks else { throw scan.failure }
        return .stored(pack: pack, offset: offset, chunks: chunks)
    }

    private mutating func chunk() throws(JSONScan.Failure) -> Content.Chunk {
        try countEntry()
        var hash: ChunkHash?
        var byteCount: Int64?
        var head: ChunkHash?
        var hasMore = try scan.enter("{", "}")
        while hasMore {
            switch try scan.memberName(of: Self.chunkMembers) {
            case 0:
                try set(&hash) { reader throws(JSONScan.Failure) in
                    if let hash = reader.scan.takeHash() { return hash }
                    return try reader.scan.decoded(ChunkHash.self)
                }
            case 1: try set(&byteCount) { reader throws(JSONScan.Failure) in try reader.scan.integer() }
            // Optional: a reader that finds another value uses the hash of the whole.
            case 2:
                head = scan.takeHash()
                if head == nil { try scan.skipValue() }
            default: try scan.skipValue()
            }
            hasMore = try scan.continues(before: "}")
        }
        guard let hash, let byteCount else { throw scan.failure }
        return Content.Chunk(hash: hash, byteCount: Int(byteCount), head: head)
    }

    private mutating func pack() throws(JSONScan.Failure) -> PackID {
        if let lastPack, scan.take(equalTo: lastPack.text) { return lastPack.id }
        let start = scan.nextOffset
        let id = try scan.decoded(PackID.self)
        lastPack = (start..<scan.nextOffset, id)
        return id
    }

    /// Reads a member that may occur once.
    private mutating func set<Value>(
        _ member: inout Value?, _ read: (inout RunReader) throws(JSONScan.Failure) -> Value
    ) throws(JSONScan.Failure) {
        guard member == nil else { throw scan.failure }
        member = try read(&self)
    }

    private mutating func countEntry() throws(JSONScan.Failure) {
        entryCount += 1
        guard entryCount <= entryLimit else { throw scan.failure }
    }
}
