/// Bytes that wait to be sent, in order.
struct Outbox {
    private var bytes: [UInt8] = []
    /// How many of them were sent. They are removed once they are half of all: each byte is moved once on average, however
    /// little a slow daemon takes at a time.
    private var sentByteCount = 0

    var byteCount: Int { bytes.count - sentByteCount }
    var isEmpty: Bool { byteCount == 0 }

    mutating func append(_ more: [UInt8]) { bytes += more }

    /// Puts what is to be sent before everything else.
    mutating func prepend(_ first: [UInt8]) {
        bytes.replaceSubrange(..<sentByteCount, with: first)
        sentByteCount = 0
    }

    /// - Parameter send: Gets all bytes, and returns how many of them were sent.
    mutating func send(_ send: (UnsafeRawBufferPointer) -> Int) {
        sentByteCount += bytes.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[sentByteCount...])) }
        guard !isEmpty else { return removeAll() }
        guard sentByteCount >= bytes.count / 2 else { return }
        bytes.removeFirst(sentByteCount)
        sentByteCount = 0
    }

    mutating func removeAll() {
        bytes = []
        sentByteCount = 0
    }
}
