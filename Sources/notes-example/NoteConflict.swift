import Ubiquity

/// A note that two devices have changed at the same time. The later edit is the current version; the other one waits
/// until somebody decides.
struct NoteConflict {
    private let url: URL
    /// The current version, and those that wait.
    private let versions: [NSFileVersion]

    init(_ url: URL) {
        self.url = url
        let current = NSFileVersion.currentVersionOfItem(at: url).map { [$0] } ?? []
        versions = current + (NSFileVersion.unresolvedConflictVersionsOfItem(at: url) ?? [])
    }

    func show() {
        guard versions.count > 1 else { return say("no conflict") }
        for (index, version) in versions.enumerated() {
            // The URL has the bytes of the version, which are fetched now if they are not here.
            let text = (try? String(contentsOf: version.url, encoding: .utf8)) ?? "not available"
            let lines = text.split(separator: "\n").joined(separator: ", ")
            let computer = version.localizedNameOfSavingComputer ?? "?"
            say("\(index + 1), by \(computer)\(version.isConflict ? "" : ", current"): \(lines)")
        }
    }

    /// Resolves the conflict, on all devices.
    func keep(_ number: Int) throws {
        guard versions.count > 1 else { throw Mistake("no conflict") }
        guard versions.indices.contains(number - 1) else { throw Mistake("there is no version \(number)") }
        let chosen = versions[number - 1]
        var refusal: NSError?
        var failure: (any Error)?
        NSFileCoordinator().coordinate(writingItemAt: url, options: .forMerging, error: &refusal) { url in
            do {
                if chosen.isConflict { try chosen.replaceItem(at: url) }
                for version in versions.dropFirst() { version.isResolved = true }
                try NSFileVersion.removeOtherVersionsOfItem(at: url)
            } catch {
                failure = error
            }
        }
        if let failure = refusal ?? failure { throw failure }
    }
}
