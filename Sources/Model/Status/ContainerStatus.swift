/// The status of a mounted container, as `dewpoint status` prints it without a path.
package struct ContainerStatus: Hashable, Sendable, Codable {
    package var container: ContainerIdentifier
    package var name: String
    package var remote: String
    package var mountpoint: String
    package var state: String
    package var device: DeviceID
    package var deviceName: String
    /// The newest applied commit.
    package var applied: CommitNumber
    package var itemCount: Int
    package var downloadedFileCount: Int
    package var downloadedByteCount: Int64
    /// Changes that are not in the container yet.
    package var pendingUploadCount: Int
    /// The length of the files among them whose bytes are not in the container; `nil` from a daemon that does not send
    /// it.
    package var pendingUploadByteCount: Int64?
    package var activeDownloadCount: Int
    /// How programs read downloaded bytes: `passthrough` or `cached`.
    package var readMode: String
    /// All of them, on or off.
    package var fastPaths: [FastPathStatus]
    /// Whether the user paused sync.
    package var isPaused: Bool
    /// Deletions that are held until they are confirmed, since they are more than half of the container.
    package var heldDeletionCount: Int
    /// Why sync is blocked, in a sentence; `nil` when it is not.
    package var problem: String?
    package var processID: Int32
    /// The space of downloaded bytes, and its limit; `nil` from a daemon that does not send it.
    package var cache: CacheStatus?
    /// Running programs that download much by reading; `nil` from a daemon that does not send it.
    package var storms: [StormReport]?
    /// Counts over the whole container; `nil` from a daemon that does not send it.
    package var totals: ItemTotals?
    /// What is on this device only, because its name is ignored or it was excluded; `nil` from a daemon that does not send
    /// it.
    package var unsynced: UnsyncedItems?
    /// New files that were put into a desktop's trash before they were uploaded: they stay on this device, and do not count
    /// as waiting; `nil` from a daemon that does not send it.
    package var trashed: UnsyncedItems?
    /// What the container holds, and its quota; `nil` from a daemon that does not send it.
    package var quota: QuotaStatus?
    /// Whether the container is encrypted; `nil` from a daemon that does not send it.
    package var isEncrypted: Bool?
    /// Whether the store answers; `nil` from a daemon that does not send it.
    package var store: StoreState?
    /// When the newest applied commit was made, by the clock of its device, or, after a snapshot, that was, RFC 3339; `nil`
    /// before the first.
    package var lastCommit: String?
    /// The devices that have not committed for twice the time that they promised (`heartbeat`); `nil` from a daemon that does
    /// not send it.
    package var overdue: [OverdueDevice]?
    /// The conditions of the link to the store, while it is conditioned; else `nil`.
    package var link: LinkSettings?
    /// The files that wait because they are being written, the first of them; `nil` from a daemon that does not send it.
    package var busyFiles: [BusyFile]?
    /// That this device's state was put back to an earlier one; `nil` when it was not.
    package var putBack: PutBack?
    /// Why the mount refuses changes; `nil` when it does not, and from a daemon that does not send it.
    package var readOnly: ReadOnly?
    /// The devices that tell this one of their commits; `nil` from a daemon that does not send it.
    package var peers: [Peer]?
    /// Whether the mount goes on when its daemon is killed; `nil` when it was not asked to.
    package var survival: Survival?

    package init(
        container: ContainerIdentifier, name: String, remote: String, mountpoint: String, state: String,
        device: DeviceID, deviceName: String, applied: CommitNumber, itemCount: Int, downloadedFileCount: Int,
        downloadedByteCount: Int64, pendingUploadCount: Int, pendingUploadByteCount: Int64?, activeDownloadCount: Int,
        readMode: String,
        fastPaths: [FastPathStatus], isPaused: Bool, heldDeletionCount: Int, problem: String?, processID: Int32,
        cache: CacheStatus?, storms: [StormReport]?
    ) {
        self.container = container
        self.name = name
        self.remote = remote
        self.mountpoint = mountpoint
        self.state = state
        self.device = device
        self.deviceName = deviceName
        self.applied = applied
        self.itemCount = itemCount
        self.downloadedFileCount = downloadedFileCount
        self.downloadedByteCount = downloadedByteCount
        self.pendingUploadCount = pendingUploadCount
        self.pendingUploadByteCount = pendingUploadByteCount
        self.activeDownloadCount = activeDownloadCount
        self.readMode = readMode
        self.fastPaths = fastPaths
        self.isPaused = isPaused
        self.heldDeletionCount = heldDeletionCount
        self.problem = problem
        self.processID = processID
        self.cache = cache
        self.storms = storms
    }
}

extension ContainerStatus {
    /// A file that is written without a pause.
    package struct BusyFile: Hashable, Sendable, Codable {
        /// How many a status has.
        package static let limit = 20

        package var path: String
        /// When its bytes were last uploaded, as a copy or in a pause of its writers, RFC 3339; `nil` when that was not
        /// since the mount, or long ago.
        package var uploaded: String?

        package init(path: String, uploaded: String?) {
            self.path = path
            self.uploaded = uploaded
        }
    }

    /// A device that tells this one of its commits.
    package struct Peer: Hashable, Sendable, Codable {
        package var device: DeviceID
        /// Empty for a device that has not committed yet.
        package var name: String
        /// From where it was last heard.
        package var address: String
        package var secondsAgo: Int
        /// The newest commit that it knows.
        package var commit: CommitNumber
        /// Whether that commit has not been found in the store for more than a minute.
        package var isMissingHere: Bool

        package init(
            device: DeviceID, name: String, address: String, secondsAgo: Int, commit: CommitNumber, isMissingHere: Bool
        ) {
            self.device = device
            self.name = name
            self.address = address
            self.secondsAgo = secondsAgo
            self.commit = commit
            self.isMissingHere = isMissingHere
        }
    }

    /// A device met a commit of its own that it does not remember.
    package struct PutBack: Hashable, Sendable, Codable {
        package var commit: CommitNumber
        /// When, RFC 3339.
        package var time: String

        package init(commit: CommitNumber, time: String) {
            self.commit = commit
            self.time = time
        }
    }

    /// Why a mount refuses changes.
    package struct ReadOnly: Hashable, Sendable, Codable {
        package enum Reason: String, Hashable, Sendable, Codable {
            /// The store refuses writing: nothing is sent to it.
            case store
            /// The mount option `ro`: changes made before are uploaded all the same.
            case option
        }

        package var reason: Reason
        /// What the store said, in a sentence; `nil` for a mount option.
        package var detail: String?

        package init(_ reason: Reason, detail: String? = nil) {
            self.reason = reason
            self.detail = detail
        }
    }
}
