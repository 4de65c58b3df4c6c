import CZlib

/// zlib's state at a stable address: zlib keeps a pointer to it. With the gzip header, whose comment has a text of a
/// fixed length. Not for use by several threads at once.
final class ZlibStream {
    let stream: UnsafeMutablePointer<z_stream>
    private let header: UnsafeMutablePointer<gz_header>
    private let commentBuffer: UnsafeMutableBufferPointer<UInt8>
    private let end: (UnsafeMutablePointer<z_stream>) -> Void

    /// "Unknown" (RFC 1952), so that equal input gives equal output on every system.
    private static let unknownSystem: Int32 = 255

    private init(commentByteCount: Int, end: @escaping (UnsafeMutablePointer<z_stream>) -> Void) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        header = .allocate(capacity: 1)
        header.initialize(to: gz_header())
        commentBuffer = .allocate(capacity: commentByteCount + 1)
        commentBuffer.initialize(repeating: 0)
        header.pointee.comment = commentBuffer.baseAddress
        self.end = end
    }

    deinit {
        end(stream)
        stream.deallocate()
        header.deallocate()
        commentBuffer.deallocate()
    }

    /// For compression, with a comment in the header.
    static func packing(comment: String) -> ZlibStream {
        let packing = ZlibStream(commentByteCount: comment.utf8.count) { deflateEnd($0) }
        let started = dewpoint_gzip_deflate_init(packing.stream, Z_DEFAULT_COMPRESSION)
        precondition(started == Z_OK, "zlib has no memory")
        for (index, byte) in comment.utf8.enumerated() { packing.commentBuffer[index] = byte }
        packing.header.pointee.os = unknownSystem
        deflateSetHeader(packing.stream, packing.header)
        return packing
    }

    /// For decompression; of a longer comment only the beginning is kept.
    static func unpacking(commentByteLimit: Int) -> ZlibStream {
        let unpacking = ZlibStream(commentByteCount: commentByteLimit) { inflateEnd($0) }
        let started = dewpoint_gzip_inflate_init(unpacking.stream)
        precondition(started == Z_OK, "zlib has no memory")
        unpacking.header.pointee.comm_max = UInt32(commentByteLimit + 1)
        inflateGetHeader(unpacking.stream, unpacking.header)
        return unpacking
    }

    /// The comment, after the header was read.
    var comment: String { String(decoding: commentBuffer.prefix { $0 != 0 }, as: UTF8.self) }

    /// Passes a piece to zlib, and passes on the output in steps.
    ///
    /// - Parameters:
    ///   - piece: At most 4 GiB.
    ///   - run: Calls zlib once and returns whether it is finished, with this piece or with all.
    func feed<Failure: Error>(
        _ piece: [UInt8], _ run: (UnsafeMutablePointer<z_stream>) throws(Failure) -> Bool,
        _ handle: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var piece = piece
        let result = piece.withUnsafeMutableBufferPointer { input -> Result<Void, Failure> in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(input.count)
            return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.stepByteCount) { step in
                do throws(Failure) {
                    var isThrough = false
                    while !isThrough {
                        stream.pointee.next_out = step.baseAddress
                        stream.pointee.avail_out = UInt32(step.count)
                        isThrough = try run(stream)
                        let count = step.count - Int(stream.pointee.avail_out)
                        try handle(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(step)[..<count]))
                    }
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
        }
        try result.get()
    }

    private static let stepByteCount = 64 << 10
}
