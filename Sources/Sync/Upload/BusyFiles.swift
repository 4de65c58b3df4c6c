import Model

/// The files that wait since programs keep writing them: a pure value.
///
/// A file is uploaded when its writers have paused. One that is written for ever, such as a log, would never be: after
/// ``interval``, and from then on as often, a copy of it is uploaded instead.
///
///     written ── a pause ──▶ paused ── written again ──▶ written, for as long as before
///                              └── uploaded as a whole ──▶ forgotten, but for the time
struct BusyFiles: Sendable {
    /// How long after an attempt that found no moment without a write the next one is made.
    static let retryPause = Duration.seconds(5)
    /// Of how many files it is known when they were uploaded as a whole: of the latest.
    static let uploadLimit = 1024

    private struct File: Sendable {
        /// When it was first found being written, or last copied.
        var since: Duration
        /// When bytes of it were last uploaded, as a copy or as a whole.
        var copied: Duration?
        var nextAttempt: Duration
        /// Its writers have paused, and it is read to be uploaded as a whole.
        var isPaused = false
    }

    private var files: [InodeNumber: File] = [:]
    private var uploads: [InodeNumber: Duration] = [:]
    let interval: Duration

    init(interval: Duration) { self.interval = interval }

    /// A file that is to be uploaded is being written.
    ///
    /// - Parameter limit: How long it may wait; the interval, or less while somebody waits for uploads.
    /// - Returns: Whether a copy of it is due.
    mutating func isDue(_ number: InodeNumber, at now: Duration, limit: Duration) -> Bool {
        var file = files[number] ?? File(since: now, copied: uploads[number], nextAttempt: now)
        file.isPaused = false
        files[number] = file
        return now - file.since >= min(limit, interval) && now >= file.nextAttempt
    }

    /// A copy was attempted, but the file was written meanwhile, or there was no room for it.
    mutating func failed(_ number: InodeNumber, at now: Duration) { files[number]?.nextAttempt = now + Self.retryPause }

    /// A copy of it is in the container.
    mutating func copied(_ number: InodeNumber, at now: Duration) {
        files[number] = File(since: now, copied: now, nextAttempt: now)
    }

    /// Its writers have paused. They may go on before it is uploaded: then it has been written all the while.
    mutating func paused(_ number: InodeNumber) { files[number]?.isPaused = true }

    /// All its bytes are in the container.
    mutating func uploaded(_ number: InodeNumber, at now: Duration) {
        files[number] = nil
        uploads[number] = now
        guard uploads.count > Self.uploadLimit else { return }
        // Half of them, so that this is rare.
        let latest = uploads.sorted { ($0.value, $0.key) > ($1.value, $1.key) }.prefix(Self.uploadLimit / 2)
        uploads = Dictionary(uniqueKeysWithValues: latest.map { ($0.key, $0.value) })
    }

    /// Forgets all others.
    mutating func keep(_ numbers: Set<InodeNumber>) { files = files.filter { numbers.contains($0.key) } }

    /// In the order of the inode numbers, each with the time when bytes of it were last uploaded.
    var waiting: [(number: InodeNumber, copied: Duration?)] {
        files.filter { !$0.value.isPaused }.sorted { $0.key < $1.key }.map { ($0.key, $0.value.copied) }
    }
}
