import CZlib

/// The gzip framing (RFC 1952): one member, no name, no time, so that equal input gives equal output.
package enum Gzip {
    package enum Failure: Error, Equatable {
        /// Not gzip, truncated, a wrong checksum, or trailing data after the one member.
        case damaged
        /// The output exceeds the limit.
        case tooLong
    }

    /// The size of a decompression step: 64 KiB.
    private static let stepByteCount = 64 << 10

    /// How hard it is tried to make a text shorter.
    package enum Effort: Sendable {
        /// Not at all: the length depends on that of the text alone.
        case none
        case usual

        fileprivate var level: Int32 {
            switch self {
            case .none: Z_NO_COMPRESSION
            case .usual: Z_DEFAULT_COMPRESSION
            }
        }
    }

    package static func compress(_ bytes: [UInt8], _ effort: Effort = .usual) -> [UInt8] {
        var stream = z_stream()
        let started = dewpoint_gzip_deflate_init(&stream, effort.level)
        precondition(started == Z_OK, "zlib has no memory")
        defer { deflateEnd(&stream) }
        // zlib counts in 32 bits; the formats that use it are limited far below.
        let bound = deflateBound(&stream, uLong(bytes.count))
        precondition(bound <= UInt32.max, "too long to be compressed in one go")
        var input = bytes
        return [UInt8](unsafeUninitializedCapacity: Int(bound)) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                let result = deflate(&stream, Z_FINISH)
                precondition(result == Z_STREAM_END, "deflateBound promised room")
            }
            count = Int(stream.total_out)
        }
    }

    /// Decompresses one gzip member, never holding more than `limit` bytes of output and one step.
    /// - Throws: `tooLong` when there is more than `limit`; `damaged`.
    package static func decompress(_ bytes: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        guard bytes.count <= UInt32.max else { throw .tooLong }
        var stream = z_stream()
        let started = dewpoint_gzip_inflate_init(&stream)
        precondition(started == Z_OK, "zlib has no memory")
        defer { inflateEnd(&stream) }
        var input = bytes
        var output: [UInt8] = []
        // The length that the member states is only a hint: nothing beyond the actual output is used.
        if bytes.count >= 18 {
            let stated = bytes.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            output.reserveCapacity(min(stated, limit) + stepByteCount)
        }
        let failure: Failure? = input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            while true {
                var result = Z_OK
                output += [UInt8](unsafeUninitializedCapacity: stepByteCount) { step, count in
                    stream.next_out = step.baseAddress
                    stream.avail_out = UInt32(step.count)
                    result = inflate(&stream, Z_NO_FLUSH)
                    count = step.count - Int(stream.avail_out)
                }
                guard output.count <= limit else { return .tooLong }
                if result == Z_STREAM_END { return stream.avail_in == 0 ? nil : .damaged }
                // Z_BUF_ERROR: the input ended before the member did.
                guard result == Z_OK, stream.avail_in > 0 || stream.avail_out == 0 else { return .damaged }
            }
        }
        if let failure { throw failure }
        return output
    }
}
