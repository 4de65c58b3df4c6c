package import Model

/// What the times of use say of a local file, by the rules `evict_after` and `keep_recent`.
package struct UseRules: Hashable, Sendable {
    /// When it is evicted if it is not used until then; `nil`: never for that.
    package var unusedAt: Timestamp?
    /// Until when the limits of the cache do not evict it; `nil`: they may.
    package var recentUntil: Timestamp?
}
