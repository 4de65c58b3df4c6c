/// A metric of a mount: its name, kind and meaning, as `GET /metrics` shows it.
///
/// The tables of the page Metrics and the queries of the Grafana board are checked against this list.
package enum Metric: String, CaseIterable, Sendable {
    case buildInformation = "dewpoint_build_info"
    case healthy = "dewpoint_healthy"

    case operationSeconds = "dewpoint_fuse_operation_duration_seconds"
    case operationErrors = "dewpoint_fuse_errors_total"
    case readBytes = "dewpoint_read_bytes_total"
    case writtenBytes = "dewpoint_written_bytes_total"

    case requestSeconds = "dewpoint_store_request_duration_seconds"
    case requestErrors = "dewpoint_store_errors_total"
    case retries = "dewpoint_retries_total"
    case downloadedBytes = "dewpoint_downloaded_bytes_total"
    case uploadedBytes = "dewpoint_uploaded_bytes_total"
    case storeAnswers = "dewpoint_store_answers"

    case items = "dewpoint_items"
    case localFiles = "dewpoint_local_files"
    case cacheBytes = "dewpoint_cache_bytes"
    case evictions = "dewpoint_evictions_total"
    case evictedBytes = "dewpoint_evicted_bytes_total"
    case usedBytes = "dewpoint_used_bytes"
    case quotaBytes = "dewpoint_quota_bytes"

    case pendingUploads = "dewpoint_pending_uploads"
    case pendingUploadBytes = "dewpoint_pending_upload_bytes"
    case waitingDownloads = "dewpoint_waiting_downloads"
    case activeDownloads = "dewpoint_active_downloads"
    case appliedCommit = "dewpoint_applied_commit"
    case commitsBehind = "dewpoint_commits_behind"
    case lastCommitSeconds = "dewpoint_last_commit_age_seconds"
    case conflicts = "dewpoint_conflicts"
    case heldDeletions = "dewpoint_held_deletions"

    case claims = "dewpoint_claims"
    case heldPrograms = "dewpoint_held_programs"

    package enum Kind: String, Sendable { case counter, gauge, histogram }

    package var kind: Kind {
        switch self {
        case .operationSeconds, .requestSeconds: .histogram
        case _ where rawValue.hasSuffix("_total"): .counter
        default: .gauge
        }
    }

    /// The names of its labels.
    package var labels: [String] {
        switch self {
        case .buildInformation: ["version"]
        case .operationSeconds: ["operation"]
        case .operationErrors: ["operation", "errno"]
        case .requestSeconds: ["request"]
        case .requestErrors: ["request", "error"]
        case .retries: ["by"]
        case .claims: ["state"]
        default: []
        }
    }

    /// The help line.
    package var help: String {
        switch self {
        case .buildInformation: "1; the label has the version of the daemon."
        case .healthy: "1 when GET /healthz answers ok, else 0."
        case .operationSeconds:
            "How long the daemon took to answer a request of the kernel. Reads by pass-through never reach it."
        case .operationErrors: "Requests of the kernel that were answered with an error."
        case .readBytes: "Bytes that reads asked the daemon for, rounded up to pages at the end of a file."
        case .writtenBytes: "Bytes that programs wrote or copied."
        case .requestSeconds: "How long the store took to answer; for a download, until its first byte."
        case .requestErrors:
            "Requests that the store did not answer as asked; notFound is usual when the log is polled."
        case .retries: "Attempts that were repeated after a failure of the store or of the link."
        case .downloadedBytes: "Bytes received from the store."
        case .uploadedBytes: "Bytes of objects that the store accepted."
        case .storeAnswers: "0 while the store does not answer, else 1."
        case .items: "Files, directories and links in the container, as far as this device knows."
        case .localFiles: "Files whose bytes are on this disk."
        case .cacheBytes: "Disk space of the local files."
        case .evictions: "Files whose local bytes were evicted, for a user or by the limits of the cache."
        case .evictedBytes: "The length of the evicted files."
        case .usedBytes: "What the files in the container and their conflict versions count for its quota."
        case .quotaBytes: "The quota of the container; absent without one."
        case .pendingUploads: "Changes that are not in the container yet."
        case .pendingUploadBytes: "The length of the changed files that are not in the container yet."
        case .waitingDownloads: "Requested downloads that have not begun."
        case .activeDownloads: "Downloads that run."
        case .appliedCommit: "The number of the newest commit that is applied here."
        case .commitsBehind: "Commits that are known to be in the log and not applied yet; at most 1000."
        case .lastCommitSeconds:
            "Seconds since a commit was last applied or uploaded; absent until the first one since the mount."
        case .conflicts: "Items with conflict versions that nobody has resolved."
        case .heldDeletions: "Deletions that are held until they are confirmed."
        case .claims: "Claims on items, by whether they are held or wait."
        case .heldPrograms: "Process groups whose reads are held since they exceeded the download limit."
        }
    }
}
