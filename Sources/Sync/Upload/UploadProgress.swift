/// How much of a file is in the container, or will be with the next commit.
package struct UploadProgress: Hashable, Sendable {
    package var byteCount: Int64
    package private(set) var bytesDone: Int64 = 0
    /// When it began: time since some fixed start.
    package let began: Duration

    /// - Parameter byteCount: So many bytes more. A file that is read a second time has no more than all of its bytes.
    mutating func add(_ byteCount: Int64) { bytesDone = min(self.byteCount, bytesDone + byteCount) }

    /// 0 to 100.
    package var percent: Double { min(100, Double(bytesDone) * 100 / Double(max(byteCount, 1))) }
}
