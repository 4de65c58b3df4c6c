import Foundation
import Model

/// What to do with a remote record of an item that has local changes too: a pure function of base, local and remote.
///
/// Field by field, what only one side changed is kept. What both changed: the remote's name, mode, times and attributes win; of two
/// edits of the bytes both are kept, the local one as an item of its own.
struct Reconcile: Equatable {
    enum Bytes: Equatable {
        /// The remote has the same bytes as the base, or the same as here.
        case keepLocal
        case takeRemote
        /// Both sides changed them: the local bytes become an item of their own.
        case keepBoth
    }

    var takesRemotePlace: Bool
    var takesRemoteMetadata: Bool
    var bytes: Bytes
    /// Whether something local is left that the container does not have.
    var staysQueued: Bool

    /// The local state in the words of a record, as far as it can differ from the base.
    struct Local {
        var parent: ItemID
        var name: ItemName
        var mode: UInt16
        var modified: Timestamp
        var target: String?
        var xattrs: [String: Data]
        var bytesChanged: Bool
    }

    init(base: ItemRecord?, local: Local, remote: ItemRecord, remoteBytesChanged: Bool) {
        let remoteMoved = base.map { $0.parent != remote.parent || $0.name != remote.name } ?? true
        let localMoved = base.map { $0.parent != local.parent || $0.name != local.name } ?? true
        let remoteMetadata =
            base.map {
                $0.mode != remote.mode || $0.modified != remote.modified || $0.target != remote.target
                    || $0.xattrs != remote.xattrs
            } ?? true
        let localMetadata =
            base.map {
                $0.mode != local.mode || $0.modified != local.modified || $0.target != local.target
                    || $0.xattrs != local.xattrs
            } ?? true

        takesRemotePlace = remoteMoved
        takesRemoteMetadata = remoteMetadata
        bytes =
            switch (local.bytesChanged, remoteBytesChanged) {
            case (true, true): .keepBoth
            case (false, true): .takeRemote
            case (true, false), (false, false): .keepLocal
            }
        let bytesStay = local.bytesChanged && !remoteBytesChanged
        staysQueued = bytesStay || (localMoved && !remoteMoved) || (localMetadata && !remoteMetadata)
    }
}
