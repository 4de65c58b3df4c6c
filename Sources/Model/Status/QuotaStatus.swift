/// How much of a container's quota is used, in bytes.
package struct QuotaStatus: Hashable, Sendable, Codable {
    /// `nil` without a quota.
    package var total: Int64?
    /// The sizes of the container's files and of their conflict versions, as far as this device has followed it.
    package var used: Int64
    /// Never negative; `nil` without a quota.
    package var remaining: Int64?

    package init(total: Int64?, used: Int64) {
        self.total = total
        self.used = used
        remaining = total.map { max(0, $0 - used) }
    }
}
