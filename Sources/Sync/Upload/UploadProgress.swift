/// How much of a file was read for its upload, and stored, except for what the last pack has of it.
package struct UploadProgress: Hashable, Sendable {
    package var byteCount: Int64
    package var bytesDone: Int64 = 0
    /// When it began: time since some fixed start.
    package let began: Duration

    /// 0 to 100.
    package var percent: Double { min(100, Double(bytesDone) * 100 / Double(max(byteCount, 1))) }
}
