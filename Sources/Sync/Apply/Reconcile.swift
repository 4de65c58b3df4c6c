import Foundation
import Model

/// Merges a remote record with an item that has local changes: a pure function of base, local and remote.
///
/// Each part of an item is merged separately, so that two devices that change different parts lose nothing:
///
///     part                  one side changed it   both changed it
///     place (parent, name)  that side's           the remote's
///     mode                  that side's           the remote's
///     attributes, each      that side's           the remote's
///     link target           that side's           the remote's; the local one becomes a link of its own
///     conflict versions     that side's           what both have kept and what either has added
///     bytes of a file       that side's           the later edit's; the other becomes a conflict version
///     time                  that of the bytes     that of the bytes; the later of two directories' times
///
/// *Remote* is the state that reached the container first. The result is uploaded as a whole record, so every device
/// ends with it, whatever it would have decided itself. See "Two devices" in the Semantics page.
struct Reconcile: Equatable {
    /// The local state, as a record would have it.
    struct Local {
        var parent: ItemID
        var name: ItemName
        var mode: UInt16
        var modified: Timestamp
        var target: LinkTarget?
        var xattrs: [AttributeName: Data]
        var conflicts: [ConflictVersion]
        var bytes: Bytes

        /// What is known about the bytes of a file.
        enum Bytes: Equatable {
            /// They are those of the base.
            case unchanged
            /// They were changed to the remote's.
            case sameAsRemote
            /// They were changed and are in the container too: they can become a conflict version.
            case stored(Content, ItemRecord.Reference)
            /// They were changed and are only local, because the file is being written or could not be uploaded.
            case unsent
        }
    }

    /// The devices that edited, for the conflict version of the losing one.
    struct Editors: Equatable {
        var local: DeviceID
        var localName: DeviceName
        var remoteName: DeviceName
        /// The id of a new conflict version.
        var newVersion: UUID
    }

    enum Bytes: Equatable {
        /// The local bytes stay.
        case keepLocal
        /// Both sides have the same bytes: there is nothing to send.
        case sameOnBothSides
        case takeRemote
        /// The local bytes, which the container has, are replaced by the remote's.
        case yieldToRemote(stored: Content)
    }

    var takesRemotePlace: Bool
    var mode: UInt16
    var modified: Timestamp
    var xattrs: [AttributeName: Data]
    var target: LinkTarget?
    /// A link target that lost and becomes a link of its own.
    var losingTarget: LinkTarget?
    var conflicts: [ConflictVersion]
    var bytes: Bytes
    /// Whether a change remains that the container does not have.
    var staysQueued: Bool

    init(base: ItemRecord?, local: Local, remote: ItemRecord, remoteBytesChanged: Bool, editors: Editors) {
        let remoteMoved = base.map { $0.parent != remote.parent || $0.name != remote.name } ?? true
        takesRemotePlace = remoteMoved
        mode = Self.merge(base?.mode, local.mode, remote.mode)
        xattrs = Self.merge(base?.xattrs ?? [:], local.xattrs, remote.xattrs)
        target = Self.merge(base.map(\.target), local.target, remote.target)
        losingTarget = Self.losingTarget(base: base, local: local.target, remote: remote.target)
        conflicts = Self.merge(base?.conflicts ?? [], local.conflicts, remote.conflicts)
        (bytes, modified) = Self.bytes(base, local, remote, remoteBytesChanged, editors)
        if remoteBytesChanged, let loser = Self.loser(local, remote, editors) {
            Self.add(loser, to: &conflicts)
        }
        let keepsPlace = !remoteMoved && (local.parent != remote.parent || local.name != remote.name)
        let keepsMetadata =
            mode != remote.mode || modified != remote.modified || xattrs != remote.xattrs || target != remote.target
            || conflicts != remote.conflicts
        let keepsBytes = bytes == .keepLocal && local.bytes != .unchanged
        staysQueued = keepsPlace || keepsMetadata || keepsBytes
    }

    /// Nothing local differs from the base: the remote state is accepted as it is.
    init(accepting remote: ItemRecord, remoteBytesChanged: Bool) {
        takesRemotePlace = true
        mode = remote.mode
        modified = remote.modified
        xattrs = remote.xattrs
        target = remote.target
        losingTarget = nil
        conflicts = remote.conflicts
        bytes = remoteBytesChanged ? .takeRemote : .keepLocal
        staysQueued = false
    }

    // MARK: Bytes

    /// Whether the local edit wins over the remote's: the later one does, and of two at the same instant that of the
    /// device with the greater id. Bytes that the container does not have cannot become a version, so they stay
    /// current.
    static func localWins(_ local: Local, _ remote: ItemRecord, _ device: DeviceID) -> Bool {
        if local.bytes == .unsent { return true }
        return (local.modified, device) > (remote.modified, remote.maker)
    }

    private static func bytes(
        _ base: ItemRecord?, _ local: Local, _ remote: ItemRecord, _ remoteBytesChanged: Bool, _ editors: Editors
    ) -> (Bytes, Timestamp) {
        guard remote.kind == .file else {
            return (.keepLocal, time(base, local, remote))
        }
        switch (local.bytes, remoteBytesChanged) {
        case (.unchanged, true): return (.takeRemote, remote.modified)
        case (.sameAsRemote, true): return (.sameOnBothSides, remote.modified)
        case (.unchanged, false): return (.keepLocal, merge(base?.modified, local.modified, remote.modified))
        // The remote's bytes are the base's, so the local ones are no edit.
        case (.sameAsRemote, false): return (.sameOnBothSides, merge(base?.modified, local.modified, remote.modified))
        case (.stored, false), (.unsent, false): return (.keepLocal, local.modified)
        case (.unsent, true): return (.keepLocal, local.modified)
        case (.stored(let content, _), true):
            return localWins(local, remote, editors.local)
                ? (.keepLocal, local.modified) : (.yieldToRemote(stored: content), remote.modified)
        }
    }

    private static func time(_ base: ItemRecord?, _ local: Local, _ remote: ItemRecord) -> Timestamp {
        let merged = merge(base?.modified, local.modified, remote.modified)
        // The time of a directory is that of the last addition or removal, on whichever device.
        guard remote.kind == .directory, local.modified != base?.modified else { return merged }
        return max(local.modified, remote.modified)
    }

    private static func loser(_ local: Local, _ remote: ItemRecord, _ editors: Editors) -> ConflictVersion? {
        switch local.bytes {
        case .unchanged, .sameAsRemote:
            return nil
        case .stored(let content, let reference) where !localWins(local, remote, editors.local):
            return ConflictVersion(
                id: editors.newVersion, device: editors.local, deviceName: editors.localName, modified: local.modified,
                size: content.byteCount, content: reference)
        case .stored, .unsent:
            guard let content = remote.content else { return nil }
            return ConflictVersion(
                id: editors.newVersion, device: remote.maker, deviceName: editors.remoteName,
                modified: remote.modified, size: remote.size, content: content)
        }
    }

    private static func add(_ version: ConflictVersion, to conflicts: inout [ConflictVersion]) {
        guard !conflicts.contains(where: { $0.isSameEdit(as: version) }) else { return }
        conflicts.append(version)
        conflicts.sort { ($0.modified, $0.id.uuidString) < ($1.modified, $1.id.uuidString) }
    }

    // MARK: Three ways

    private static func merge<Value: Equatable>(_ base: Value?, _ local: Value, _ remote: Value) -> Value {
        guard let base else { return remote }
        return remote == base ? local : remote
    }

    private static func merge(
        _ base: [AttributeName: Data], _ local: [AttributeName: Data], _ remote: [AttributeName: Data]
    ) -> [AttributeName: Data] {
        var merged = remote
        for name in Set(base.keys).union(local.keys) where remote[name] == base[name] { merged[name] = local[name] }
        return merged
    }

    /// The versions that both sides still have or one has added; for an edit that both added under two ids, the
    /// remote's.
    private static func merge(
        _ base: [ConflictVersion], _ local: [ConflictVersion], _ remote: [ConflictVersion]
    ) -> [ConflictVersion] {
        let resolvedHere = Set(base.map(\.id)).subtracting(local.map(\.id))
        var merged = remote.filter { !resolvedHere.contains($0.id) }
        let known = Set(base.map(\.id))
        for version in local where !known.contains(version.id) && !merged.contains(where: { $0.id == version.id }) {
            add(version, to: &merged)
        }
        return merged
    }

    private static func losingTarget(base: ItemRecord?, local: LinkTarget?, remote: LinkTarget?) -> LinkTarget? {
        guard let base, let local, local != base.target, remote != base.target, local != remote else { return nil }
        return local
    }
}
