import AsyncHTTPClient
import NIOCore

extension HTTPClientResponse {
    /// The whole body. The client's own deadline ends with the head, and a peer that then sends a byte now and then would
    /// keep the caller for days.
    ///
    /// - Throws: ``TransportFault`` when it takes longer, and the client's errors.
    func collect(upTo byteLimit: Int, within limit: Duration) async throws -> [UInt8] {
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            defer { group.cancelAll() }
            group.addTask { [body] in Array(try await body.collect(upTo: byteLimit).readableBytesView) }
            group.addTask {
                try await Task.sleep(for: limit)
                throw TransportFault("the answer did not end in time")
            }
            return try await group.next() ?? []
        }
    }
}
