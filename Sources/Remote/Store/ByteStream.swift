/// The bytes of an object as they arrive: non-empty pieces of any size, pulled by the reader, to be read once.
///
/// Nothing is fetched ahead of the reader, so a slow reader slows the sender down. Releasing the stream ends the
/// transfer.
package struct ByteStream: AsyncSequence, Sendable {
    package typealias Element = [UInt8]
    package typealias Failure = StoreError

    /// The object's key, for errors.
    package let key: String
    private let pull: @Sendable () async throws(StoreError) -> [UInt8]?

    /// - Parameter pull: Returns the next piece, `nil` at the end and ever after.
    package init(key: String, pull: @escaping @Sendable () async throws(StoreError) -> [UInt8]?) {
        self.key = key
        self.pull = pull
    }

    /// The next piece; `nil` at the end.
    package func next() async throws(StoreError) -> [UInt8]? { try await pull() }

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
