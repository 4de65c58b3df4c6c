/// The requests of the control API, one case each.
///
/// HTTP and JSON on a Unix socket, so `curl --unix-socket` works too:
///
///     GET  /v1/status                            → ContainerStatus
///     GET  /v1/items/status?path=…               → ItemStatus
///     GET  /v1/items/totals?path=…               → ItemTotals     of the item and everything below it
///     GET  /v1/items/why?path=…                  → ItemReasons
///     GET  /v1/transfers                         → TransferListing
///     GET  /v1/items?path=…&after=…&limit=…      → DirectoryPage   what is directly in a directory, in order of names
///     GET  /v1/items/download-progress?path=…    → DownloadProgress
///     POST /v1/items/download        {path,wait} → Done       wait: answers when the bytes are local
///     POST /v1/items/cancel-download {path}      → Done
///     POST /v1/items/evict           {path,report} → Done     report: EvictionReport, and no error if files stay
///     POST /v1/items/pin             {path,pinned} → Done
///     GET  /v1/items/versions?path=…             → [ItemVersion]
///     GET  /v1/conflicts                         → [ConflictedItem]
///     GET  /v1/pins                              → [PinnedItem]
///     POST /v1/items/resolve         {path,keep} → Done       keep: current, newest or the id of a conflict version
///     POST /v1/items/restore-version {path,id}   → Done       makes an earlier version current again
///     GET  /v1/items/versions/content?path=…&id=… → the bytes of a version
///     POST /v1/items/versions/discard       {path,id} → Done   a conflict version is resolved, none is listed any more
///     POST /v1/items/versions/mark-resolved {path,id} → Done   a conflict version becomes an earlier one
///     GET  /v1/shares                            → [SharedFile]
///     POST /v1/shares                {path,seconds} → SharedFile   a link to the bytes that a file has now
///     POST /v1/shares/revoke         {id}        → Done
///     GET  /v1/devices                           → [KnownDevice]   this one first
///     GET  /v1/log?lines=…                       → LogTail    the end of the daemon's own log file
///     GET  /v1/trash                             → [DeletedItem]
///     POST /v1/trash/restore         {item}      → RestoredItem
///     POST /v1/items/pause           {path,paused} → Done     the empty path: the whole container
///     POST /v1/deletions/answer      {discard}   → Done       confirms held deletions, or restores the items
///     POST /v1/sync                  {wait}      → Done       wait: answers when nothing is left to upload or apply
///     POST /v1/storms/answer {process,allowed}   → Done       resumes or refuses a throttled process
///     GET  /v1/locks                             → [LockListing]
///     POST /v1/session      SessionRequest lines → SessionEvent lines   claims and presenters, both ways at once
///          …?downloads=withheld: reads of its process and child processes never download meanwhile
///     POST /v1/claims/break          {id}        → Done       revokes a claim
///     GET  /v1/events?path=…                     → ItemNews lines       until the client disconnects
///     GET  /v1/items/follow?path=…               → ItemUpdate lines     the items, then their changes
///     POST /v1/check                 {bytes}     → CheckReport   bytes: reads and verifies what is in the container
///     POST /v1/gc         {graceSeconds,dryRun}  → GarbageReport
///     GET  /v1/link                              → LinkSettings
///     POST /v1/link                  {link}      → LinkSettings   without link: those of the mount's options
///     GET  /v1/log-level                         → LogLevelReport
///     POST /v1/log-level             {level}     → LogLevelReport
///     GET  /metrics                              → text of Prometheus
///     GET  /healthz                              → 200 and `ok`, or 503 and the reason, as text
///     POST /v1/unmount               {lazily}    → Done       the daemon exits after the answer
///
/// A path is below the container's root and has no leading `/`; the empty path is the root. Every failure is answered
/// with a ``ControlFault``. A client that closes its connection cancels the wait, not the work.
package enum ControlRoute: String, CaseIterable, Sendable {
    case status = "/v1/status"
    case itemStatus = "/v1/items/status"
    case totals = "/v1/items/totals"
    case why = "/v1/items/why"
    case transfers = "/v1/transfers"
    case list = "/v1/items"
    case downloadProgress = "/v1/items/download-progress"
    case download = "/v1/items/download"
    case cancelDownload = "/v1/items/cancel-download"
    case evict = "/v1/items/evict"
    case pin = "/v1/items/pin"
    case versions = "/v1/items/versions"
    case versionContent = "/v1/items/versions/content"
    case discardVersion = "/v1/items/versions/discard"
    case markVersionResolved = "/v1/items/versions/mark-resolved"
    case conflicts = "/v1/conflicts"
    case pins = "/v1/pins"
    case resolve = "/v1/items/resolve"
    case restoreVersion = "/v1/items/restore-version"
    case shares = "/v1/shares"
    case revokeShare = "/v1/shares/revoke"
    case devices = "/v1/devices"
    case log = "/v1/log"
    case trash = "/v1/trash"
    case restoreDeleted = "/v1/trash/restore"
    case pause = "/v1/items/pause"
    case answerDeletions = "/v1/deletions/answer"
    case sync = "/v1/sync"
    case answerStorm = "/v1/storms/answer"
    case locks = "/v1/locks"
    case session = "/v1/session"
    case breakClaim = "/v1/claims/break"
    case events = "/v1/events"
    case follow = "/v1/items/follow"
    case check = "/v1/check"
    case gc = "/v1/gc"
    case link = "/v1/link"
    case logLevel = "/v1/log-level"
    case metrics = "/metrics"
    case health = "/healthz"
    case unmount = "/v1/unmount"

    package enum Method: String, Sendable { case get = "GET", post = "POST" }

    package var path: String { rawValue }

    /// The query of a ``session`` during which its process, with all child processes, may not download by reading.
    package static let withholdingDownloads = "?downloads=withheld"

    /// All that it takes, the usual one first.
    package var methods: [Method] {
        switch self {
        case .link, .logLevel, .shares: [.get, .post]
        default: [method]
        }
    }

    package var method: Method {
        switch self {
        case .status, .itemStatus, .totals, .why, .transfers, .downloadProgress, .locks, .versions, .versionContent,
            .conflicts, .pins, .trash, .events, .follow, .list, .shares, .devices, .log, .link, .logLevel, .metrics,
            .health:
            .get
        case .download, .cancelDownload, .evict, .pin, .pause, .answerDeletions, .resolve, .restoreVersion,
            .discardVersion, .markVersionResolved, .restoreDeleted, .revokeShare, .sync, .check, .gc, .unmount,
            .session, .breakClaim, .answerStorm:
            .post
        }
    }

    /// The longest request body that a daemon reads: 64 KiB. A path is at most 4 KiB.
    package static let bodyByteLimit = 64 << 10
}
