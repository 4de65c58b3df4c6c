package import Model

extension ItemFollower {
    /// How many updates wait for a slow reader; then the sequence ends with an error.
    package static let bufferLimit = 1 << 20

    /// The updates of ``start(socketPath:path:onUpdate:onEnd:)`` as an asynchronous sequence.
    ///
    /// It never ends without an error: ``ControlError/daemonUnreachable(_:)`` when the daemon has exited,
    /// ``ControlError/refused(_:)`` for a missing path. It disconnects when the reader stops.
    package static func updates(socketPath: String, path: String) -> AsyncThrowingStream<ItemUpdate, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: ItemUpdate.self, bufferingPolicy: .bufferingOldest(bufferLimit))
        let follower = start(socketPath: socketPath, path: path) { update in
            if case .dropped = continuation.yield(update) {
                continuation.finish(
                    throwing: ControlError.refused(
                        FileError(.tooLarge, "more than \(bufferLimit) updates wait to be read")))
            }
        } onEnd: {
            continuation.finish(throwing: $0)
        }
        continuation.onTermination = { _ in follower.stop() }
        return stream
    }
}
