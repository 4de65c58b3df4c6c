import Synchronization

/// Shows the progress of a download that a document waits for.
final class DocumentDownload: Sendable {
    /// How often the container is asked.
    private static let interval: DispatchTimeInterval = .milliseconds(250)

    private let document: WeakDocument
    private let url: URL
    private let timer: Carried<any DispatchSourceTimer>
    private let hasEnded = Mutex(false)

    /// - Returns: `nil` when the newest bytes are local, or the file is in no container.
    init?(of document: UIDocument, at url: URL) {
        guard let status = DocumentAttributes(path: url.path)?.status("downloadingStatus"), status != "Current" else {
            return nil
        }
        self.document = WeakDocument(document)
        self.url = url
        timer = Carried(value: DispatchSource.makeTimerSource(queue: document.completionQueue))
        let progress = Progress(totalUnitCount: 100)
        progress.kind = .file
        document.record.withLock { $0.progress = progress }
        document.perform(on: document.home, after: .zero) { document in
            guard document.progress != nil else { return }
            document.changeState { $0.insert(.progressAvailable) }
        }
        timer.value.setEventHandler { [weak self] in self?.update() }
        timer.value.schedule(deadline: .now() + Self.interval, repeating: Self.interval)
        timer.value.resume()
    }

    private func update() {
        guard let percent = DocumentAttributes(path: url.path)?.status("percentDownloaded").flatMap({ Int64($0) })
        else { return }
        document.document?.progress?.completedUnitCount = percent
    }

    /// May be called again.
    func end() {
        let ends = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        guard ends else { return }
        timer.value.cancel()
        guard let document = document.document else { return }
        document.record.withLock { $0.progress = nil }
        document.perform(on: document.home, after: .zero) { document in
            document.changeState { $0.remove(.progressAvailable) }
        }
    }
}
