package import Model
package import Replica

/// How much room the container's quota leaves for a commit: a pure value.
///
/// What makes a record smaller, and deletions, always go; the room that they make is there once their commit is.
package struct QuotaRoom: Hashable, Sendable {
    let quota: ContainerQuota
    /// What is in the container, and what the commit adds so far.
    private(set) var used: Int64

    init(quota: ContainerQuota, used: Int64) {
        self.quota = quota
        self.used = used
    }

    /// - Returns: `nil` without a quota.
    package init?(_ replica: Replica) throws(FileError) {
        guard let quota = replica.quota else { return nil }
        self.init(quota: quota, used: try replica.read { try $0.committedByteCount() })
    }

    /// The container may have more than its quota: it was lowered, or devices added to it at the same time.
    var rest: Int64 { max(0, quota.byteCount - used) }

    /// Adds to the commit, if there is room.
    ///
    /// - Parameter growth: How many bytes the container has more afterwards; negative for fewer.
    package mutating func admit(_ growth: Int64) -> Bool {
        guard growth > 0 else { return true }
        guard growth <= rest else { return false }
        used += growth
        return true
    }

    /// Why something was not admitted, and what to do.
    ///
    /// - Parameter remote: The location of the container.
    package func refusal(of growth: Int64, remote: String) -> String {
        "the container's quota has no room for it: \(ByteCount(used)) of \(quota) are used, and it needs "
            + "\(ByteCount(growth)) more; delete something, or raise the quota with: dewpoint container quota \(remote) SIZE"
    }
}
