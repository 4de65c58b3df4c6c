/// The bytes of an object as they arrive: non-empty pieces of any size, pulled by the reader, to be read once.
///
/// Nothing is fetched ahead of the reader, so a slow reader slows the sender down. Releasing the stream ends the
/// transfer.
package struct ByteStream: AsyncSequence, Sendable {
    package typealias Element = [UInt8]
    package typealias Failure = StoreError

    /// A piece, as it is where it arrived: not every reader needs it in an array.
    package enum Piece {
        case array([UInt8])
        /// Valid only during the call that received it.
        case borrowed(UnsafeRawBufferPointer)

        package var count: Int {
            switch self {
            case .array(let bytes): bytes.count
            case .borrowed(let bytes): bytes.count
            }
        }

        /// The bytes, copied if they are borrowed.
        package var bytes: [UInt8] {
            switch self {
            case .array(let bytes): bytes
            case .borrowed(let bytes): Array(bytes)
            }
        }

        package func withUnsafeBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
            switch self {
            case .array(let bytes): bytes.withUnsafeBytes(body)
            case .borrowed(let bytes): body(bytes)
            }
        }
    }

    /// The object's key, for errors.
    package let key: String
    private let pass: @Sendable (_ take: (Piece) -> Void) async throws(StoreError) -> Bool

    /// - Parameter pass: Calls its argument once with the next piece and returns `true`, or returns `false` at the end and
    ///   ever after.
    package init(
        key: String, passing pass: @escaping @Sendable (_ take: (Piece) -> Void) async throws(StoreError) -> Bool
    ) {
        self.key = key
        self.pass = pass
    }

    /// - Parameter pull: Returns the next piece, `nil` at the end and ever after.
    package init(key: String, pull: @escaping @Sendable () async throws(StoreError) -> [UInt8]?) {
        self.init(key: key) { (take) async throws(StoreError) in
            guard let bytes = try await pull() else { return false }
            take(.array(bytes))
            return true
        }
    }

    /// The next piece; `nil` at the end.
    package func next() async throws(StoreError) -> [UInt8]? {
        var bytes: [UInt8]?
        _ = try await pass { bytes = $0.bytes }
        return bytes
    }

    /// The next piece, without a copy.
    ///
    /// - Parameter take: Called once, except at the end.
    /// - Returns: `false` at the end.
    package func next(_ take: (Piece) -> Void) async throws(StoreError) -> Bool { try await pass(take) }

    /// All remaining bytes.
    ///
    /// - Throws: ``StoreError`` with `corrupt` once there are more than `limit`, before they are in memory.
    package func collect(upTo limit: Int) async throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await next() {
            guard piece.count <= limit - bytes.count else {
                throw StoreError(.corrupt, key: key, "longer than the limit of \(limit) bytes")
            }
            if bytes.isEmpty { bytes = piece } else { bytes.append(contentsOf: piece) }
        }
        return bytes
    }

    package func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    package struct Iterator: AsyncIteratorProtocol {
        let stream: ByteStream

        package mutating func next() async throws(StoreError) -> [UInt8]? { try await stream.next() }

        package mutating func next(isolation: isolated (any Actor)?) async throws(StoreError) -> [UInt8]? {
            try await stream.next()
        }
    }
}
