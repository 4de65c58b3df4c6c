import ControlAPI
import ControlClient
import Glibc
import Model
import Synchronization

/// One version of a file: the current one, one that lost a conflict, or an earlier one.
///
/// A container keeps the bytes that a file had before it was replaced for 30 days, and those of conflicts until they are
/// resolved. Resolve a conflict within a coordinated write: choose a version, call ``replaceItem(at:options:)`` on it
/// unless it is the current one, set ``isResolved`` of all conflict versions to `true`, and remove them.
///
/// Differences from Apple's: versions cannot be added. Earlier versions count as nonlocal until their bytes have been
/// used, and ``removeOtherVersionsOfItem(at:)`` keeps them in the container. All class functions also accept the
/// ``url`` of a version, which stands for its item. Files outside containers have a current version only.
open class NSFileVersion: NSObject, @unchecked Sendable {
    // Unchecked, since an open class cannot be checked: all stored properties are constant, or guarded by a mutex;
    // subclasses that add others must guard those.

    let itemURL: URL
    let id: String
    private let facts: Mutex<Facts>

    private enum Facts {
        /// Not looked up yet.
        case unread
        /// Its daemon did not answer, or the version is gone.
        case unknown
        case known(ItemVersion)
    }

    static let currentID = "current"

    /// A version as a notice names it: looked up when it is first asked for something.
    init(item: URL, id: String) {
        itemURL = item
        self.id = id
        facts = Mutex(.unread)
        super.init()
    }

    init(item: URL, _ version: ItemVersion) {
        itemURL = item
        id = version.id
        facts = Mutex(.known(version))
        super.init()
    }

    /// What is known of it; `nil` when it is gone or its daemon does not answer.
    var known: ItemVersion? {
        let found: ItemVersion?? = facts.withLock { facts in
            switch facts {
            case .unread: nil
            case .unknown: .some(nil)
            case .known(let version): version
            }
        }
        if let found { return found }
        let version = try? ItemVersions(itemURL).list().first { $0.id == id }
        facts.withLock { $0 = version.map { .known($0) } ?? .unknown }
        return version
    }

    var isCurrent: Bool { id == Self.currentID }

    // MARK: Properties

    /// Where its bytes can be read: the item itself for the current version, else a private, read-only copy of this
    /// process, which is fetched when this is first asked for. Blocks until then.
    ///
    /// Do not write there, and use it while the version exists. When the bytes cannot be fetched, nothing is there.
    open var url: URL {
        if isCurrent { return itemURL }
        do {
            return try VersionStore.shared.url(of: self)
        } catch {
            NSLog("%@", "the bytes of a version of \(itemURL.path) cannot be fetched: \(error)")
            return VersionStore.shared.place(of: self)
        }
    }

    /// The name of the file, for people.
    open var localizedName: String? { itemURL.fileName }

    /// The name of the device that made it, if known.
    open var localizedNameOfSavingComputer: String? { known?.computer }

    /// `nil`: files are not shared between users.
    open var originatorNameComponents: PersonNameComponents? { nil }

    /// When its bytes were made.
    open var modificationDate: Date? {
        if let known { return known.modificationDate }
        guard isCurrent, let status = try? FileStatus(of: itemURL.path) else { return nil }
        let time = status.value.st_mtim
        return Date(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }

    /// Identifies the version among those of its file, on every device: an `NSString`. Archive it, and use it with
    /// ``version(itemAt:forPersistentIdentifier:)``.
    open var persistentIdentifier: any NSCoding { NSString(string: id) }

    /// Whether it lost a conflict.
    open var isConflict: Bool { known?.conflict ?? false }

    /// Whether its conflict is resolved; `true` for a version that is no conflict. Can be set to `true` only, which
    /// resolves it on all devices and does not remove the version.
    ///
    /// A failure to set it is logged, and leaves it `false`.
    open var isResolved: Bool {
        get { known?.resolved ?? true }
        set {
            precondition(newValue, "a version cannot be made unresolved: as documented by Apple")
            guard isConflict, !isResolved else { return }
            do throws(ControlError) {
                let item = ItemVersions(itemURL)
                try item.client().send(MarkVersionResolvedRequest(path: item.path, id: id))
                facts.withLock { facts in
                    guard case .known(var version) = facts else { return }
                    version.resolved = true
                    facts = .known(version)
                }
            } catch {
                NSLog("%@", "a conflict version of \(itemURL.path) is not marked as resolved: \(error)")
            }
        }
    }

    /// Whether the system may discard it to free space. Setting it has no effect: a container keeps earlier versions
    /// for 30 days.
    open var isDiscardable: Bool {
        get { false }
        set { precondition(!isCurrent, "the current version cannot be discardable: as documented by Apple") }
    }

    /// Whether its bytes are local: for other versions than the current one, whether ``url`` was used.
    open var hasLocalContents: Bool {
        isCurrent ? known?.local ?? true : VersionStore.shared.hasBytes(of: self)
    }

    /// `false`: containers have no thumbnails.
    open var hasThumbnail: Bool { false }

    // MARK: Equality

    /// Whether both are the same version of the same file.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSFileVersion else { return false }
        return id == other.id && itemURL.standardizedFileURL == other.itemURL.standardizedFileURL
    }

    /// Equal for equal versions.
    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(id)
        hasher.combine(itemURL.standardizedFileURL)
        return hasher.finalize()
    }
}

extension ItemVersion {
    /// The date to the microsecond, as `Date` represents it.
    var modificationDate: Date? {
        let parts = date.split(separator: ".", maxSplits: 1)
        guard let whole = parts.first,
            let seconds = try? Date("\(whole)\(whole.hasSuffix("Z") ? "" : "Z")", strategy: .iso8601)
        else { return nil }
        let fraction = parts.count > 1 ? Double("0.\(parts[1].dropLast())") : 0
        return seconds.addingTimeInterval(fraction ?? 0)
    }
}
