import CZlib

/// Writes a directory as a zip archive, without compression.
///
/// Format: PKWARE's APPNOTE 6.3.9. For each file a local header, its bytes, and at the end the central directory; sizes
/// are 64-bit (the zip64 extra field) where they do not fit in 32 bits. Names are UTF-8 (flag bit 11), Unix modes and
/// symbolic links are kept in the external attributes.
struct ZipArchive {
    private let output: FileHandle
    private var offset: UInt64 = 0
    private var central = Data()
    private var entryCount: UInt64 = 0

    /// How much is read and written at once: 1 MiB.
    private static let pieceByteCount = 1 << 20

    /// - Throws: `CocoaError` for files that cannot be read or written.
    static func write(contentsOf directory: URL, to file: URL) throws {
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSURLErrorKey: file])
        }
        let output = try FileHandle(forWritingTo: file)
        var archive = ZipArchive(output: output)
        do {
            try archive.add(directory, as: directory.fileName)
            try archive.finish()
        } catch {
            // The archive is removed by the caller.
            try? output.close()
            throw error
        }
        try output.close()
    }

    private mutating func add(_ url: URL, as name: String) throws {
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        let mode = (attributes[.posixPermissions] as? NSNumber)?.uint32Value ?? 0o644
        let time = Self.dosTime(attributes[.modificationDate] as? Date ?? Date(timeIntervalSince1970: 0))
        switch attributes[.type] as? FileAttributeType {
        case .typeDirectory:
            try add(name + "/", mode: 0o040000 | mode, time: time) { _ in }
            for child in try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() {
                try add(url.appendingPathComponent(child), as: "\(name)/\(child)")
            }
        case .typeSymbolicLink:
            let target = try FileManager.default.destinationOfSymbolicLink(atPath: url.path)
            try add(name, mode: 0o120777, time: time) { try $0(Data(target.utf8)) }
        case .typeRegular:
            let input = try FileHandle(forReadingFrom: url)
            defer { try? input.close() }  // read-only: nothing can be lost
            try add(name, mode: 0o100000 | mode, time: time) { write in
                while let piece = try input.read(upToCount: Self.pieceByteCount), !piece.isEmpty { try write(piece) }
            }
        default: break  // pipes and sockets have no bytes
        }
    }

    private mutating func add(
        _ name: String, mode: UInt32, time: UInt32, _ body: ((Data) throws -> Void) throws -> Void
    ) throws {
        let start = offset
        let name = Data(name.utf8)
        var checksum = crc32(0, nil, 0)
        var byteCount: UInt64 = 0
        // The sizes are filled in below: they are known only when the bytes have been read.
        let header = Self.localHeader(name, time: time, checksum: 0, byteCount: 0)
        try output.write(contentsOf: header)
        try body { piece in
            checksum = piece.withUnsafeBytes {
                crc32(checksum, $0.bindMemory(to: UInt8.self).baseAddress, UInt32(piece.count))
            }
            byteCount += UInt64(piece.count)
            try output.write(contentsOf: piece)
        }
        offset = start + UInt64(header.count) + byteCount
        try output.seek(toOffset: start)
        try output.write(
            contentsOf: Self.localHeader(name, time: time, checksum: UInt32(checksum), byteCount: byteCount))
        try output.seek(toOffset: offset)
        central += Self.centralHeader(
            name, mode: mode, time: time, checksum: UInt32(checksum), byteCount: byteCount, start: start)
        entryCount += 1
    }

    private mutating func finish() throws {
        let start = offset
        var end = Data()
        // Zip64 end of central directory record and its locator, then the record that every reader looks for.
        end.append(little: UInt32(0x0606_4b50))
        end.append(little: UInt64(44))
        end.append(little: UInt16(45))
        end.append(little: UInt16(45))
        end.append(little: UInt32(0))
        end.append(little: UInt32(0))
        end.append(little: entryCount)
        end.append(little: entryCount)
        end.append(little: UInt64(central.count))
        end.append(little: start)
        end.append(little: UInt32(0x0706_4b50))
        end.append(little: UInt32(0))
        end.append(little: start + UInt64(central.count))
        end.append(little: UInt32(1))
        end.append(little: UInt32(0x0605_4b50))
        end.append(little: UInt32(0))
        end.append(little: UInt16(clamping: entryCount))
        end.append(little: UInt16(clamping: entryCount))
        end.append(little: UInt32(clamping: central.count))
        end.append(little: UInt32(clamping: start))
        end.append(little: UInt16(0))
        try output.write(contentsOf: central + end)
    }

    // MARK: Headers

    private static func localHeader(_ name: Data, time: UInt32, checksum: UInt32, byteCount: UInt64) -> Data {
        var header = Data()
        header.append(little: UInt32(0x0403_4b50))
        header.append(common(time: time, checksum: checksum))
        header.append(little: UInt16(clamping: name.count))
        header.append(little: UInt16(20))
        header.append(name)
        // Zip64 extra field, always, so that the header's length does not depend on the size.
        header.append(little: UInt16(1))
        header.append(little: UInt16(16))
        header.append(little: byteCount)
        header.append(little: byteCount)
        return header
    }

    private static func centralHeader(
        _ name: Data, mode: UInt32, time: UInt32, checksum: UInt32, byteCount: UInt64, start: UInt64
    ) -> Data {
        var header = Data()
        header.append(little: UInt32(0x0201_4b50))
        header.append(little: UInt16(3 << 8 | 45))  // made on Unix
        header.append(common(time: time, checksum: checksum))
        header.append(little: UInt16(clamping: name.count))
        header.append(little: UInt16(28))
        header.append(little: UInt16(0))
        header.append(little: UInt16(0))
        header.append(little: UInt16(0))
        header.append(little: mode << 16 | (mode & 0o170000 == 0o040000 ? 0x10 : 0))
        header.append(little: UInt32.max)
        header.append(name)
        header.append(little: UInt16(1))
        header.append(little: UInt16(24))
        header.append(little: byteCount)
        header.append(little: byteCount)
        header.append(little: start)
        return header
    }

    /// From the version needed to the two sizes, which are in the extra field.
    private static func common(time: UInt32, checksum: UInt32) -> Data {
        var fields = Data()
        fields.append(little: UInt16(45))
        fields.append(little: UInt16(1 << 11))
        fields.append(little: UInt16(0))
        fields.append(little: time)
        fields.append(little: checksum)
        fields.append(little: UInt32.max)
        fields.append(little: UInt32.max)
        return fields
    }

    /// MS-DOS time and date: two-second steps from 1980 on, in UTC.
    private static func dosTime(_ date: Date) -> UInt32 {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        let year = UInt32(clamping: min(max((parts.year ?? 1980) - 1980, 0), 127))
        let day = year << 9 | UInt32(parts.month ?? 1) << 5 | UInt32(parts.day ?? 1)
        return day << 16 | UInt32(parts.hour ?? 0) << 11 | UInt32(parts.minute ?? 0) << 5 | UInt32(parts.second ?? 0)
            / 2
    }
}

extension Data {
    fileprivate mutating func append(little value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }
}
