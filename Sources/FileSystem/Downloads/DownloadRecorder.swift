import Logging
import Model
import Replica

/// Records in the index how downloads progress and why they fail.
struct DownloadRecorder: Sendable {
    let replica: Replica
    let logger: Logger

    /// Records which pieces of a file are local, so that a restart resumes there.
    func save(_ have: ChunkSet, of inode: InodeNumber) throws(FileError) {
        try replica.change { try $0.downloads.saveProgress(of: inode, have: have) }
    }

    /// Records why a download failed, and logs it once: not again at each attempt that fails in the same way.
    func record(_ error: FileError, of inode: InodeNumber) {
        let fault = ItemFault(downloading: error)
        do throws(FileError) {
            let isNews = try replica.look { try $0.entries(of: inode).first?.error?.code } != fault.code
            try replica.change { try $0.setError(fault, of: inode) }
            guard isNews else { return }
            let path = try replica.look { try $0.path(of: inode) }
            logger.log(
                level: error.code == .corrupt ? .error : .warning, "download failed",
                metadata: ["path": "\(path)", "error": "\(error)"])
        } catch {
            logUnlessUnlinked(error, "failed to record the error of a download", inode)
        }
    }

    /// Records how a download ended.
    ///
    /// - Parameter have: Its local pieces.
    func record(_ outcome: DownloadState.Outcome, of inode: InodeNumber, have: ChunkSet) {
        do throws(FileError) {
            switch outcome {
            case .finished:
                break
            case .failed(let error) where error.code == .superseded:
                logger.debug("restarting a download", metadata: ["inode": "\(inode)"])
            case .failed(let error):
                record(error, of: inode)
                try save(have, of: inode)
            case .cancelled:
                // A cancellation withdraws earlier requests; one made since stands.
                try save(have, of: inode)
            }
        } catch {
            // A file that was truncated or changed in between has no download any more.
            guard error.code != .superseded else { return }
            logUnlessUnlinked(error, "failed to record a finished download", inode)
        }
    }

    /// An inode unlinked during its download has nothing to record.
    private func logUnlessUnlinked(_ error: FileError, _ what: Logger.Message, _ inode: InodeNumber) {
        guard error.code != .notFound else { return }
        logger.error(what, metadata: ["inode": "\(inode)", "error": "\(error)"])
    }
}

extension ItemFault {
    /// The fault of a failed download, with Apple's error code. See "States" in the Semantics page.
    init(downloading error: FileError) {
        let code =
            switch error.code {
            case .notInContainer: 4353
            case .diskFull: 640
            case .corrupt: 259
            default: 4355
            }
        self.init(code: code, text: error.description)
    }
}
