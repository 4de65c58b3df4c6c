/// A metric of a mount. Its raw value declares it, as `GET /metrics` shows it: `KIND NAME{LABEL,…}: HELP`.
///
/// The unit is at the end of the name, before `_total`: bytes or seconds; without one the metric counts things. The table of
/// the page Metrics and the queries of the Grafana board are checked against the declarations.
package enum Metric: String, CaseIterable, Sendable {
    case buildInformation =
        "gauge dewpoint_build_info{version}: 1; the label has the version of the daemon."
    case healthy =
        "gauge dewpoint_healthy: 1 when GET /healthz answers ok, else 0."

    case operationSeconds =
        "histogram dewpoint_fuse_operation_duration_seconds{operation}: How long the daemon took to answer a request of the kernel. Reads by pass-through never reach it."
    case operationErrors =
        "counter dewpoint_fuse_errors_total{operation,errno}: Requests of the kernel that were answered with an error."
    case readBytes =
        "counter dewpoint_read_bytes_total: Bytes that reads asked the daemon for, rounded up to pages at the end of a file."
    case writtenBytes =
        "counter dewpoint_written_bytes_total: Bytes that programs wrote or copied."

    case requestSeconds =
        "histogram dewpoint_store_request_duration_seconds{request}: How long the store took to answer; for a download, until its first byte."
    case requestErrors =
        "counter dewpoint_store_errors_total{request,error}: Requests that the store did not answer as asked; notFound is usual when the log is polled."
    case retries =
        "counter dewpoint_retries_total{by}: Attempts that were repeated after a failure of the store or of the link."
    case downloadedBytes =
        "counter dewpoint_downloaded_bytes_total: Bytes received from the store."
    case uploadedBytes =
        "counter dewpoint_uploaded_bytes_total: Bytes of objects that the store accepted."
    case storeAnswers =
        "gauge dewpoint_store_answers: 0 while the store does not answer, else 1."

    case items =
        "gauge dewpoint_items: Files, directories and links in the container, as far as this device knows."
    case localFiles =
        "gauge dewpoint_local_files: Files whose bytes are on this disk."
    case cacheBytes =
        "gauge dewpoint_cache_bytes: Disk space of the local files."
    case evictions =
        "counter dewpoint_evictions_total: Files whose local bytes were evicted, for a user or by the limits of the cache."
    case evictedBytes =
        "counter dewpoint_evicted_bytes_total: The length of the evicted files."
    case usedBytes =
        "gauge dewpoint_used_bytes: What the files in the container and their conflict versions count for its quota."
    case quotaBytes =
        "gauge dewpoint_quota_bytes: The quota of the container; absent without one."

    case pendingUploads =
        "gauge dewpoint_pending_uploads: Changes that are not in the container yet."
    case pendingUploadBytes =
        "gauge dewpoint_pending_upload_bytes: The length of the changed files that are not in the container yet."
    case waitingDownloads =
        "gauge dewpoint_waiting_downloads: Requested downloads that have not begun."
    case activeDownloads =
        "gauge dewpoint_active_downloads: Downloads that run."
    case appliedCommit =
        "gauge dewpoint_applied_commit: The number of the newest commit that is applied here."
    case commitsBehind =
        "gauge dewpoint_commits_behind: Commits that are known to be in the log and not applied yet; at most 1000."
    case lastCommitSeconds =
        "gauge dewpoint_last_commit_age_seconds: Seconds since a commit was last applied or uploaded; absent until the first one since the mount."
    case overdueDevices =
        "gauge dewpoint_overdue_devices: Devices that have not committed for twice the time that they promised (heartbeat)."
    case conflicts =
        "gauge dewpoint_conflicts: Items with conflict versions that nobody has resolved."
    case heldDeletions =
        "gauge dewpoint_held_deletions: Deletions that are held until they are confirmed."

    case claims =
        "gauge dewpoint_claims{state}: Claims on items, by whether they are held or wait."
    case heldPrograms =
        "gauge dewpoint_held_programs: Process groups whose reads are held since they exceeded the download limit."

    package enum Kind: String, Sendable { case counter, gauge, histogram }

    /// What a raw value says.
    private struct Declaration {
        let kind: Kind
        let name: String
        let labels: [String]
        let help: String

        init(_ text: String) {
            guard let parts = text.wholeMatch(of: /(\w+) (\w+)(?:{([\w,]+)})?: (.+)/)?.output,
                let kind = Kind(rawValue: String(parts.1))
            else { preconditionFailure("not the declaration of a metric: \(text)") }
            self.kind = kind
            name = String(parts.2)
            labels = parts.3?.split(separator: ",").map(String.init) ?? []
            help = String(parts.4)
        }
    }

    private static let declarations = Dictionary(uniqueKeysWithValues: allCases.map { ($0, Declaration($0.rawValue)) })

    private var declaration: Declaration { Self.declarations[self] ?? Declaration(rawValue) }

    package var kind: Kind { declaration.kind }
    package var name: String { declaration.name }
    /// The names of its labels.
    package var labels: [String] { declaration.labels }
    /// The help line.
    package var help: String { declaration.help }

    /// - Returns: `nil` if there is no metric of that name.
    init?(name: String) {
        guard let metric = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = metric
    }
}
