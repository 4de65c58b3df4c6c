import Model
import Synchronization
import Linux

extension UIDocument {
    func startPresenting() {
        let starts = record.withLock { record in
            defer { record.isPresenting = true }
            return !record.isPresenting
        }
        if starts { NSFileCoordinator.addFilePresenter(self) }
    }

    /// Also from `deinit`.
    func stopPresenting() {
        let stops = record.withLock { record in
            defer { record.isPresenting = false }
            return record.isPresenting
        }
        if stops { NSFileCoordinator.removeFilePresenter(self) }
    }

    // MARK: Questions

    /// Runs now, or when the save that is writing has ended.
    ///
    /// A save that still waits for its claim is not waited for: it may wait for the very program that asks.
    func afterWriting(_ answer: @escaping @Sendable () -> Void) {
        let isWriting = record.withLock { record in
            if record.isWriting { record.waitingForWriter.append(answer) }
            return record.isWriting
        }
        if !isWriting { answer() }
    }

    func endWriting() {
        let answers = record.withLock { record in
            defer { record.waitingForWriter = [] }
            record.isWriting = false
            return record.waitingForWriter
        }
        for answer in answers { answer() }
    }

    func saveForOthers(_ answer: @escaping @Sendable ((any Error)?) -> Void) {
        guard !documentState.contains(.closed), hasUnsavedChanges else { return answer(nil) }
        perform(on: home) {
            self.autosave { succeeded in
                let error = self.record.withLock { $0.lastSaveError }
                answer(succeeded ? nil : error ?? CocoaError(.fileWriteUnknown))
            }
        }
    }

    /// An unsaved edit is written first: it is then among the deleted bytes, which can be restored, or wins over another
    /// device's deletion.
    func accommodateDeletion(_ answer: @escaping @Sendable ((any Error)?) -> Void) {
        guard !documentState.contains(.closed), hasUnsavedChanges else { return closeDeleted { answer(nil) } }
        perform(on: home) {
            self.autosave { _ in self.closeDeleted { answer(nil) } }
        }
    }

    private func closeDeleted(then finish: @escaping @Sendable () -> Void) {
        performAsynchronousFileAccess {
            self.stopPresenting()
            let wasOpen = self.record.withLock { record in
                defer { record.state = [.closed, .editingDisabled] }
                return !record.state.contains(.closed)
            }
            finish()
            guard wasOpen else { return }
            self.perform(on: self.home) {
                self.disableEditing()
                self.postStateChange()
            }
        }
    }

    // MARK: Notices

    func follow(to url: URL) {
        let isMoved = record.withLock { record in
            defer { record.follow(to: url) }
            guard record.fileURL != url else { return false }
            if record.fileURL.pathExtension != url.pathExtension { record.fileType = nil }
            return true
        }
        if isMoved { perform(on: home) { self.postStateChange() } }
    }

    /// Checked after the file access that is running: the notice may be of the document's own save.
    func reloadIfChanged() {
        perform(on: accessQueue, after: .zero) { $0.checkForChange() }
        updateConflictState()
    }

    private func checkForChange() {
        let (url, known, state) = record.withLock { ($0.fileURL, $0.signature, $0.state) }
        guard !state.contains(.closed) else { return }
        guard let current = try? DocumentSignature(url) else {
            return perform(on: accessQueue, after: Self.deletionGrace) { $0.checkForDeletion() }
        }
        guard current != known else { return }
        perform(on: home, after: .zero) { $0.reload() }
    }

    private func reload() {
        guard !documentState.contains(.closed), !hasUnsavedChanges else { return }
        record.withLock { $0.isReloading = true }
        revert(toContentsOf: fileURL)
    }

    /// A plain program removed the file. Unsaved changes bring it back: an edit wins over a deletion.
    private func checkForDeletion() {
        let url = fileURL
        guard isMissing(url), url == fileURL, !documentState.contains(.closed), !hasUnsavedChanges else { return }
        closeDeleted {}
    }

    /// A file that cannot be looked up, because its daemon has died or we may not search its directory, is not missing.
    private func isMissing(_ url: URL) -> Bool {
        do throws(FileError) {
            _ = try ItemSignature(url)
            return false
        } catch {
            return error.isMissingItem
        }
    }

    func updateConflictState() {
        perform(on: accessQueue, after: .zero) { document in
            guard !document.documentState.contains(.closed) else { return }
            let isInConflict = DocumentConflicts.exist(at: document.fileURL)
            guard document.documentState.contains(.inConflict) != isInConflict else { return }
            document.perform(on: document.home, after: .zero) { document in
                guard !document.documentState.contains(.closed) else { return }
                document.changeState { if isInConflict { $0.insert(.inConflict) } else { $0.remove(.inConflict) } }
            }
        }
    }
}
