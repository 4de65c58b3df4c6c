import Model

/// The files that wait since programs keep writing them: a pure value.
///
/// A file is uploaded when its writers have paused. One that is written for ever, such as a log, would never be: after
/// ``interval``, and from then on as often, a copy of it is uploaded instead.
struct BusyFiles: Sendable {
    /// How long after an attempt that found no moment without a write the next one is made.
    static let retryPause = Duration.seconds(5)

    private struct File: Sendable {
        /// When it was first found being written, or last copied.
        var since: Duration
        var copied: Duration?
        var nextAttempt: Duration
    }

    private var files: [InodeNumber: File] = [:]
    let interval: Duration

    init(interval: Duration) { self.interval = interval }

    /// A file that is to be uploaded is being written.
    ///
    /// - Parameter limit: How long it may wait; the interval, or less while somebody waits for uploads.
    /// - Returns: Whether a copy of it is due.
    mutating func isDue(_ number: InodeNumber, at now: Duration, limit: Duration) -> Bool {
        let file = files[number] ?? File(since: now, nextAttempt: now)
        files[number] = file
        return now - file.since >= min(limit, interval) && now >= file.nextAttempt
    }

    /// A copy was attempted, but the file was written meanwhile, or there was no room for it.
    mutating func failed(_ number: InodeNumber, at now: Duration) { files[number]?.nextAttempt = now + Self.retryPause }

    /// A copy of it is in the container.
    mutating func copied(_ number: InodeNumber, at now: Duration) {
        files[number] = File(since: now, copied: now, nextAttempt: now)
    }

    /// Its bytes are in the container, or it is gone.
    mutating func remove(_ number: InodeNumber) { files[number] = nil }

    /// Forgets all others.
    mutating func keep(_ numbers: Set<InodeNumber>) { files = files.filter { numbers.contains($0.key) } }

    /// In the order of the inode numbers, each with the time when a copy was last uploaded.
    var waiting: [(number: InodeNumber, copied: Duration?)] {
        files.sorted { $0.key < $1.key }.map { ($0.key, $0.value.copied) }
    }
}
