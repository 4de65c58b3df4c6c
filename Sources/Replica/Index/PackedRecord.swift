import Foundation
import Model

/// The format of a content in the index:
///
///     version  1 byte, 1
///     runs     count (32 bits), each: 0 and a byte count (64 bits)            zeros
///                                     1, pack (16 bytes), offset (64 bits),   stored
///                                     count (32 bits) of chunks: SHA-256 (32 bytes), byte count (32 bits),
///                                     whose highest bit says that the head's SHA-256 follows (32 bytes)
extension Content {
    private static let packedVersion: UInt8 = 1
    static let headFlag: UInt32 = 1 << 31

    var packed: Data {
        var writer = PackedWriter()
        pack(into: &writer)
        return writer.data
    }

    init(packed: Data) throws(FileError) {
        var reader = PackedReader(packed)
        try self.init(reading: &reader)
    }

    fileprivate func pack(into writer: inout PackedWriter) {
        writer.append(Self.packedVersion)
        writer.append(UInt32(runs.count))
        for run in runs {
            switch run {
            case .zeros(let byteCount):
                writer.append(UInt8(0))
                writer.append(byteCount)
            case .stored(let pack, let offset, let chunks):
                writer.append(UInt8(1))
                writer.append(pack.uuid)
                writer.append(offset)
                writer.append(UInt32(chunks.count))
                for chunk in chunks {
                    writer.append(chunk.hash)
                    writer.append(UInt32(chunk.byteCount) | (chunk.head == nil ? 0 : Self.headFlag))
                    if let head = chunk.head { writer.append(head) }
                }
            }
        }
    }

    fileprivate init(reading reader: inout PackedReader) throws(FileError) {
        guard try reader.read(UInt8.self) == Self.packedVersion else { throw PackedReader.damaged }
        var runs: [Run] = []
        for _ in 0..<(try reader.read(UInt32.self)) {
            if try reader.read(UInt8.self) == 0 {
                runs.append(.zeros(byteCount: try reader.read()))
                continue
            }
            let pack = PackID(uuid: try reader.readUUID())
            let offset: Int64 = try reader.read()
            var chunks: [Chunk] = []
            for _ in 0..<(try reader.read(UInt32.self)) {
                let hash = try reader.readHash()
                let byteCount = try reader.read(UInt32.self)
                let head = byteCount & Self.headFlag == 0 ? nil : try reader.readHash()
                chunks.append(Chunk(hash: hash, byteCount: Int(byteCount & ~Self.headFlag), head: head))
            }
            runs.append(.stored(pack: pack, offset: offset, chunks: chunks))
        }
        self.init(runs: runs)
    }
}

/// The format of a record in the index: version (1 byte, 2), then its fields in the order of ``ItemRecord``; the target
/// with a byte before it that says whether there is one, the attributes sorted by name, the content after a byte: 0
/// none, 1 a content, 2 a manifest's hash. Then the device that made the bytes, if it is another one (a text, else
/// empty), and the conflict versions, as in `ConflictVersion.packed(_:)`; version 1 had neither. At the end, if there is
/// one, the preview: 1 (1 byte), SHA-256 (32 bytes), pack (16 bytes), offset (64 bits), byte count (32 bits). What follows
/// the conflict versions and is something else is ignored, as it is by readers from before previews.
extension ItemRecord {
    private static let packedVersion: UInt8 = 2

    var packed: Data {
        var writer = PackedWriter()
        writer.append(Self.packedVersion)
        writer.append(id.uuid)
        writer.append(parent.uuid)
        writer.append(name.string)
        writer.append(kind.number)
        writer.append(mode)
        writer.append(modified.rawValue)
        writer.append(size)
        writer.append(UInt8(target == nil ? 0 : 1))
        if let target { writer.append(target.string) }
        writer.append(UInt32(xattrs.count))
        for (name, value) in xattrs.sorted(by: { $0.key < $1.key }) {
            writer.append(name.string)
            writer.append(value)
        }
        if let content { content.pack(into: &writer) } else { writer.append(UInt8(0)) }
        writer.append(device.description)
        writer.append(base)
        writer.append(bytesDevice?.description ?? "")
        ConflictVersion.pack(conflicts, into: &writer)
        if let preview {
            writer.append(UInt8(1))
            writer.append(preview.hash)
            writer.append(preview.pack.uuid)
            writer.append(preview.offset)
            writer.append(UInt32(preview.byteCount))
        }
        return writer.data
    }

    init(packed: Data) throws(FileError) {
        var reader = PackedReader(packed)
        let version = try reader.read(UInt8.self)
        guard (1...Self.packedVersion).contains(version) else { throw PackedReader.damaged }
        let id = ItemID(uuid: try reader.readUUID())
        let parent = ItemID(uuid: try reader.readUUID())
        let name = try ItemName(try reader.readText())
        guard let kind = ItemKind(number: try reader.read()) else { throw PackedReader.damaged }
        let mode: UInt16 = try reader.read()
        let modified = Timestamp(rawValue: try reader.read())
        let size: Int64 = try reader.read()
        let target = try reader.read(UInt8.self) == 0 ? nil : LinkTarget(try reader.readText())
        var xattrs: [AttributeName: Data] = [:]
        for _ in 0..<(try reader.read(UInt32.self)) {
            let name = AttributeName(try reader.readText())
            xattrs[name] = Data(try reader.readBytes())
        }
        let content = try Reference(reading: &reader)
        guard let device = DeviceID(try reader.readText()) else { throw PackedReader.damaged }
        let base: CommitNumber = try reader.read()
        let maker = version == 1 ? nil : DeviceID(try reader.readText())
        let conflicts = version == 1 ? [] : try ConflictVersion.list(reading: &reader)
        self.init(
            id: id, parent: parent, name: name, kind: kind, mode: mode, modified: modified, size: size, target: target,
            xattrs: xattrs, content: content, conflicts: conflicts, preview: Self.preview(reading: &reader),
            maker: maker,
            device: device, base: base)
    }

    private static func preview(reading reader: inout PackedReader) -> ItemPreview? {
        do throws(FileError) {
            guard !reader.isAtEnd, try reader.read(UInt8.self) == 1 else { return nil }
            return ItemPreview(
                hash: try reader.readHash(), pack: PackID(uuid: try reader.readUUID()), offset: try reader.read(),
                byteCount: Int(try reader.read(UInt32.self)))
        } catch {
            return nil
        }
    }

    /// The name in the first bytes of a packed record.
    static func name(packed: Data) throws(FileError) -> ItemName {
        var reader = PackedReader(packed)
        _ = try (reader.read(UInt8.self), reader.readUUID(), reader.readUUID())
        return try ItemName(try reader.readText())
    }
}

extension ItemRecord.Reference {
    fileprivate func pack(into writer: inout PackedWriter) {
        switch self {
        case .inline(let content):
            writer.append(UInt8(1))
            content.pack(into: &writer)
        case .manifest(let hash):
            writer.append(UInt8(2))
            writer.append(hash)
        }
    }

    fileprivate init?(reading reader: inout PackedReader) throws(FileError) {
        switch try reader.read(UInt8.self) {
        case 0: return nil
        case 1: self = .inline(try Content(reading: &reader))
        case 2: self = .manifest(try reader.readHash())
        default: throw PackedReader.damaged
        }
    }
}

/// The format of an item's conflict versions in the index: their count (32 bits), and for each its id (16 bytes),
/// device and device's name (texts), time (64 bits), size (64 bits), and content as in a record.
extension ConflictVersion {
    static func packed(_ versions: [ConflictVersion]) -> Data? {
        guard !versions.isEmpty else { return nil }
        var writer = PackedWriter()
        pack(versions, into: &writer)
        return writer.data
    }

    static func list(packed: Data?) throws(FileError) -> [ConflictVersion] {
        guard let packed else { return [] }
        var reader = PackedReader(packed)
        return try list(reading: &reader)
    }

    fileprivate static func pack(_ versions: [ConflictVersion], into writer: inout PackedWriter) {
        writer.append(UInt32(versions.count))
        for version in versions {
            writer.append(version.id)
            writer.append(version.device.description)
            writer.append(version.deviceName.string)
            writer.append(version.modified.rawValue)
            writer.append(version.size)
            version.content.pack(into: &writer)
        }
    }

    fileprivate static func list(reading reader: inout PackedReader) throws(FileError) -> [ConflictVersion] {
        var versions: [ConflictVersion] = []
        for _ in 0..<(try reader.read(UInt32.self)) {
            let id = try reader.readUUID()
            guard let device = DeviceID(try reader.readText()) else { throw PackedReader.damaged }
            let name = try reader.readText()
            let modified = Timestamp(rawValue: try reader.read())
            let size: Int64 = try reader.read()
            guard let content = try ItemRecord.Reference(reading: &reader) else { throw PackedReader.damaged }
            versions.append(
                ConflictVersion(
                    id: id, device: device, deviceName: DeviceName(name), modified: modified, size: size,
                    content: content))
        }
        return versions
    }
}

extension ItemKind {
    /// The number of the kind in the index.
    var number: UInt8 {
        switch self {
        case .file: 0
        case .directory: 1
        case .symbolicLink: 2
        case .fifo: 3
        case .socket: 4
        case .characterDevice: 5
        case .blockDevice: 6
        }
    }

    init?(number: UInt8) {
        guard let kind = ItemKind.allCases.first(where: { $0.number == number }) else { return nil }
        self = kind
    }
}
