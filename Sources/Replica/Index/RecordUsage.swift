import Foundation
import GRDB
package import Model

extension ItemRecord {
    /// What it takes of the container's quota: the size of its bytes, and of its conflict versions.
    package var usedByteCount: Int64 { conflicts.reduce(size) { $0.addingWithoutOverflow($1.size) } }

    /// Makes `record_bytes(record)` known to SQL: the ``usedByteCount`` of a packed record, and 0 for none.
    ///
    /// A damaged record counts as 0 too: it must not keep its item from being removed.
    static let usageFunction = DatabaseFunction("record_bytes", argumentCount: 1, pure: true) { values in
        guard let packed = Data.fromDatabaseValue(values[0]) else { return 0 }
        return (try? ItemRecord.usedByteCount(packed: packed)) ?? 0
    }

    /// ``usedByteCount`` of a packed record, which is not unpacked: an import of a million items asks for each.
    static func usedByteCount(packed: Data) throws(FileError) -> Int64 {
        var reader = PackedReader(packed)
        let version = try reader.read(UInt8.self)
        let ids = 2 * 16
        try reader.skip(ids)
        try reader.skipText()
        guard ItemKind(number: try reader.read()) == .file else { return 0 }
        let (mode, time) = (2, 8)
        try reader.skip(mode + time)
        var byteCount: Int64 = try reader.read()
        // Only later versions have conflict versions.
        guard version > 1 else { return byteCount }
        if try reader.read(UInt8.self) != 0 { try reader.skipText() }
        for _ in 0..<(try reader.read(UInt32.self)) {
            try reader.skipText()
            try reader.skipText()
        }
        try reader.skipReference()
        try reader.skipText()
        let base = 8
        try reader.skip(base)
        try reader.skipText()
        for _ in 0..<(try reader.read(UInt32.self)) {
            let id = 16
            try reader.skip(id)
            try reader.skipText()
            try reader.skipText()
            try reader.skip(time)
            byteCount = byteCount.addingWithoutOverflow(try reader.read())
            try reader.skipReference()
        }
        return byteCount
    }
}

extension PackedReader {
    fileprivate mutating func skipText() throws(FileError) { _ = try readBytes() }

    /// See ``Content`` and ``ItemRecord``, packed.
    fileprivate mutating func skipReference() throws(FileError) {
        switch try read(UInt8.self) {
        case 0: return
        case 1: try skipContent()
        case 2: try skip(ChunkHash.byteCount)
        default: throw Self.damaged
        }
    }

    private mutating func skipContent() throws(FileError) {
        let (version, pack, number) = (1, 16, 8)
        try skip(version)
        for _ in 0..<(try read(UInt32.self)) {
            guard try read(UInt8.self) != 0 else {
                try skip(number)
                continue
            }
            try skip(pack + number)
            for _ in 0..<(try read(UInt32.self)) {
                try skip(ChunkHash.byteCount)
                if try read(UInt32.self) & Content.headFlag != 0 { try skip(ChunkHash.byteCount) }
            }
        }
    }
}

extension Int64 {
    /// The sum, or the largest number: sizes in records of other devices may be of any length.
    package func addingWithoutOverflow(_ other: Int64) -> Int64 {
        let sum = addingReportingOverflow(other)
        return sum.overflow ? (other > 0 ? .max : .min) : sum.partialValue
    }
}
