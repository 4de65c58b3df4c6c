import Synchronization

extension UIDocument {
    enum Loading {
        case opening
        case reverting
        /// By the document itself: changes that were made meanwhile win.
        case reloading
    }

    private struct LoadedItem {
        let url: URL
        let signature: DocumentSignature
        let contents: StagedContents?
        let type: String
        let isInConflict: Bool
    }

    /// Reads a file on the queue of file access, and takes over its contents on the queue of the callbacks.
    func startLoading(
        from url: URL, for purpose: Loading, on queue: DispatchQueue, then finish: @escaping (Bool) -> Void
    ) {
        performAsynchronousFileAccess {
            let result = self.readCoordinated(url, presents: purpose == .opening)
            self.perform(on: queue) {
                do {
                    try self.takeOver(result.get(), from: url, for: purpose)
                    finish(true)
                } catch {
                    if purpose == .opening { self.performAsynchronousFileAccess { self.stopPresenting() } }
                    self.handleError(error, userInteractionPermitted: true)
                    finish(false)
                }
            }
        }
    }

    private func readCoordinated(_ url: URL, presents: Bool) -> Result<LoadedItem, any Error> {
        var result: Result<LoadedItem, any Error>?
        var failure: NSError?
        let download = DocumentDownload(of: self, at: url)
        defer { download?.end() }
        NSFileCoordinator(filePresenter: self).coordinate(readingItemAt: url, error: &failure) { place in
            download?.end()
            result = Result {
                // Before reading: what changes from now on is reported.
                if presents { self.startPresenting() }
                // Before reading, too: a change during the read is then found later.
                let signature = try DocumentSignature(place)
                self.record.withLock { $0.staged = nil }
                try self.read(from: place)
                let contents = self.record.withLock { record in
                    defer { record.staged = nil }
                    return record.staged
                }
                return LoadedItem(
                    url: place, signature: signature, contents: contents?.value, type: DocumentTypes.type(of: place),
                    isInConflict: DocumentConflicts.exist(at: place))
            }
        }
        return result ?? .failure(failure ?? CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: url.path]))
    }

    private func takeOver(_ item: LoadedItem, from url: URL, for purpose: Loading) throws {
        if purpose == .reloading, hasUnsavedChanges { return }
        if let staged = item.contents { try load(fromContents: staged.contents, ofType: staged.type) }
        // The undo manager is not created for this.
        if purpose != .opening { record.withLock { $0.undoManager }?.value?.removeAllActions() }
        updateChangeCount(.cleared)
        guard purpose == .opening || url.standardizedFileURL == fileURL.standardizedFileURL else {
            return updateChangeCount(.done)
        }
        record.withLock { record in
            if purpose == .opening { record.fileURL = item.url }
            record.fileType = item.type
            record.signature = item.signature
            record.modificationDate = item.signature.modificationDate
        }
        changeState { state in
            if purpose == .opening { state.subtract([.closed, .editingDisabled, .savingError]) }
            if item.isInConflict { state.insert(.inConflict) } else { state.remove(.inConflict) }
        }
    }

    func readAndLoad(_ url: URL) throws {
        let isDirectory = (try? ItemSignature(url))?.kind == .directory
        let contents: Any = isDirectory ? try FileWrapper(url: url) : try Data(contentsOf: url)
        let staged = StagedContents(contents: contents, type: DocumentTypes.type(of: url))
        guard DispatchQueue.getSpecific(key: Self.accessKey) == ObjectIdentifier(self) else {
            return try load(fromContents: staged.contents, ofType: staged.type)
        }
        let carried = Carried(value: staged)
        record.withLock { $0.staged = carried }
    }
}
