import Coordination
import Foundation
import Model
import Remote
import Replica
import Sync

/// The effects of another device's commit on local items: computed from their state before and after it.
struct CommitEvents: AppliedCommitEvents {
    private struct Seen: Equatable {
        var item: ClaimItem
        var inode: InodeNumber
        var mode: UInt16
        var modified: Timestamp
        var size: Int64
        var target: LinkTarget?
        var conflicts: Set<String>
        var preview: ItemPreview?
        var hasIncoming: Bool

        /// Whether nothing but the time of modification is another one: that of bytes that are still to come.
        func isSame(butFor old: Seen) -> Bool {
            inode == old.inode && mode == old.mode && size == old.size && target == old.target
        }
    }

    private let replica: Replica
    private let events: ItemEvents
    private let items: [ItemID]
    private let before: [ItemID: Seen]
    private let origin: ItemEvents.Origin

    /// - Returns: `nil` when there are no observers.
    init?(_ commit: Commit, replica: Replica, events: ItemEvents) throws(FileError) {
        guard events.hasObservers, commit.device != replica.device else { return nil }
        self.replica = replica
        self.events = events
        items = commit.tombstones.map(\.id) + commit.records.map(\.id)
        origin = .device(commit.deviceName)
        before = try Self.look(items, replica, events.places)
    }

    private static func look(
        _ items: [ItemID], _ replica: Replica, _ places: ItemResolver
    ) throws(FileError) -> [ItemID: Seen] {
        var seen: [ItemID: Seen] = [:]
        for item in items {
            guard let entry = try replica.look({ try $0.entry(of: item) }) else { continue }
            let inode = try replica.look { try $0.inode(entry.inode) }
            seen[item] = Seen(
                item: try places.item(entry), inode: entry.inode, mode: inode.attributes.mode,
                modified: inode.attributes.modified, size: inode.attributes.size, target: inode.target,
                conflicts: Set(entry.conflicts.map { $0.id.uuidString.lowercased() }), preview: entry.base?.preview,
                hasIncoming: inode.hasIncoming)
        }
        return seen
    }

    /// Publishes the events, now that the commit is applied.
    ///
    /// - Parameter displaced: The items that were moved to make room for items of the commit.
    func publish(displaced: [InodeNumber]) throws(FileError) {
        let after = try Self.look(items, replica, events.places)
        for inode in displaced {
            let place = try events.places.item(inode)
            events.superseded(inode, by: place)
        }
        for item in items {
            switch (before[item], after[item]) {
            case (nil, let new?): events.appeared(new.item, by: origin)
            case (let old?, nil): events.deleted(old.item, by: origin)
            case (let old?, let new?): try publish(old, new, of: item)
            case (nil, nil): break
            }
        }
    }

    private func publish(_ old: Seen, _ new: Seen, of id: ItemID) throws(FileError) {
        if old.inode != new.inode { events.superseded(old.inode, by: new.item) }
        let isTold = old.inode != new.inode && events.noteTold(old.inode, as: new.inode)
        if old.item.name != new.item.name || old.item.parent != new.item.parent {
            events.moved(old.item, to: new.item, replacing: nil, by: origin)
        }
        if new.hasIncoming, new.modified != old.modified {
            // A program that read the file now would get the older bytes: it is notified when the newer ones have arrived.
            events.awaits(new.inode, by: origin)
            events.ubiquityAttributes(UbiquityKeys.downloading, of: new.item)
            if !new.isSame(butFor: old) { events.changed(new.inode, by: origin) }
        } else if !isTold, !new.isSame(butFor: old) || old.modified != new.modified {
            events.changed(new.inode, by: origin)
        }
        if old.preview != new.preview { events.ubiquityAttributes(UbiquityKeys.preview, of: new.item) }
        guard new.conflicts != old.conflicts, let entry = try replica.look({ try $0.entry(of: id) }) else { return }
        // Not the inode seen above: a quick download may have replaced it.
        let item = try events.places.item(entry)
        for version in new.conflicts.subtracting(old.conflicts).sorted() {
            events.version(.gained, version, of: item, by: origin)
        }
        for version in old.conflicts.subtracting(new.conflicts).sorted() {
            events.version(.resolved, version, of: item, by: origin)
        }
        if old.conflicts.isEmpty != new.conflicts.isEmpty {
            events.ubiquityAttributes(UbiquityKeys.conflicts, of: item)
        }
    }
}
