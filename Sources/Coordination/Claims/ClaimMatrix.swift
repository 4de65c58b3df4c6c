/// Which claims wait for which: the table of `NSFileCoordinator.h`, "Asynchronous File Coordination".
///
/// ```
/// N's item to E's item   E read, N read   E read, N write   E write, N read   E write, N write
/// same                   go               wait              wait              wait
/// inside E's directory   go               go                if E is deep      if E is deep
/// an ancestor of it      go               if N is deep      go                if N is deep
/// unrelated              go               go                go                go
/// ```
/// The table is symmetric in N and E, so it also says whether two claims may be held at the same time.
package enum ClaimMatrix {
    /// Whether a new access waits for an earlier one.
    /// - Parameter relation: Of the new access's item to the earlier one's.
    package static func waits(new: AccessKind, _ relation: ItemRelation, earlier: AccessKind) -> Bool {
        switch relation {
        case .same: new.isWrite || earlier.isWrite
        case .inside: earlier.isDeep
        case .ancestor: new.isDeep
        case .unrelated: false
        }
    }

    package static func waits(new: Claim, earlier: Claim) -> Bool {
        waits(new: new.kind, new.item.relation(to: earlier.item), earlier: earlier.kind)
    }
}
