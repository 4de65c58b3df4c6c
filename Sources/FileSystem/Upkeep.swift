import Logging
import Model
import Remote
import Replica
import Sync

/// What a mount does from time to time: it syncs, records, forgets and resumes what no request does by itself.
struct Upkeep: Sendable {
    let fileSystem: FileSystem

    /// Interval between syncs of downloaded bytes to disk.
    private static let settlePause = Duration.seconds(300)

    /// Periodically makes downloads survive a power failure, in one sync rather than one for each file.
    func settle() async {
        // Cancelled: the engine shuts down, and closing settles once more.
        while (try? await fileSystem.environment.sleep(Self.settlePause)) != nil {
            do throws(FileError) {
                try fileSystem.replica.settle()
            } catch {
                fileSystem.logger.warning(
                    "failed to sync downloads to disk; after a power failure they are downloaded again",
                    metadata: ["error": "\(error)"])
            }
        }
    }

    /// Lets small changes share transactions of the index; see ``Replica/startBatches(_:)``.
    func commitBatches() async {
        let begun = Signal(limit: 1)
        do throws(FileError) {
            try fileSystem.replica.startBatches { begun.raise() }
        } catch {
            return fileSystem.logger.warning(
                "each change has a transaction of its own, which is slower", metadata: ["error": "\(error)"])
        }
        while await begun.wait() {
            // Cancelled: closing commits.
            guard (try? await fileSystem.environment.sleep(Replica.batchInterval)) != nil else { return }
            do throws(FileError) { try fileSystem.replica.commitChanges() } catch {
                fileSystem.logger.error(
                    "changes are not in the index yet, and kept in its redo log", metadata: ["error": "\(error)"])
                // After any other error only the next mount goes on.
                guard error.code == .diskFull, (try? await fileSystem.environment.sleep(Self.fullPause)) != nil else {
                    return
                }
                begun.raise()
            }
        }
    }

    /// How long after it found the disk full a commit of changes is tried again.
    private static let fullPause = Duration.seconds(5)

    /// Interval between two looks for changes through mappings.
    private static let mappingPause = Duration.seconds(1)

    /// Notices what programs write through mappings that the kernel passed to the backing files, as long as there may
    /// be any: some programs keep them for weeks.
    func noticeMappedWrites() async {
        var hasFailed = false
        while await fileSystem.files.mapped.additions.wait() {
            while true {
                guard (try? await fileSystem.environment.sleep(Self.mappingPause)) != nil else { return }
                let mapped = fileSystem.files.possiblyMapped
                if mapped.isEmpty { break }
                let error = recordStores(into: mapped)
                // Once, not every second: it is tried until it succeeds.
                if let error, !hasFailed {
                    fileSystem.logger.error(
                        "failed to record changes through mappings; trying again", metadata: ["error": "\(error)"])
                }
                hasFailed = error != nil
            }
        }
    }

    /// - Returns: The last error: what cannot be recorded of one file does not keep the others from it.
    private func recordStores(into mapped: [InodeNumber]) -> FileError? {
        var failure: FileError?
        for number in mapped {
            do throws(FileError) { try fileSystem.recordStores(into: number) } catch {
                // Closed and removed since it was listed.
                if error.code != .notFound { failure = error }
            }
        }
        return failure
    }

    /// Resumes work that waits for the store as soon as any request has been answered.
    func resumeWhenStoreReturns() async {
        while await fileSystem.syncEngine.store.returns.wait() {
            fileSystem.logger.info("the store is reachable again")
            fileSystem.syncEngine.wakeUp()
            fileSystem.reading.downloads.retryFailed()
            guard (try? await fileSystem.environment.sleep(Self.returnPause)) != nil else { return }
        }
    }

    /// How long it takes until what waits is woken again: a store that answers some calls only returns with each of them.
    private static let returnPause = Duration.seconds(1)

    /// How long earlier versions and deleted items can be restored: 30 days after they were replaced.
    private static let historyRetention = Duration.seconds(30 * 24 * 3600)

    /// The interval between removals of expired versions.
    private static let forgettingPause = Duration.seconds(3600)

    /// Periodically removes versions replaced or deleted longer ago than ``historyRetention``.
    func forgetOldVersions() async {
        repeat {
            do throws(FileError) {
                let limit = fileSystem.environment.now().advanced(by: .zero - Self.historyRetention)
                try fileSystem.replica.change { try $0.history.drop(before: limit) }
            } catch {
                fileSystem.logger.warning(
                    "failed to remove expired versions; trying again later", metadata: ["error": "\(error)"])
            }
            // Cancelled: the engine shuts down.
        } while (try? await fileSystem.environment.sleep(Self.forgettingPause)) != nil
    }

    func resumeDownloads() {
        do throws(FileError) {
            for inode in try fileSystem.replica.read({ try $0.requestedDownloads() })
            where try !fileSystem.replica.read({ try $0.isPaused(inode) }) {
                fileSystem.reading.downloads.enqueue(inode)
            }
        } catch {
            fileSystem.logger.error(
                "failed to resume requested downloads; the next mount resumes them", metadata: ["error": "\(error)"])
        }
    }

    /// Interval between two looks for files that have the name of a temporary file and are none.
    private static let temporaryPause = Duration.seconds(30)

    /// Syncs what has the name of a temporary file and turned out to be none, now and then.
    func syncUnlikeTemporary() async {
        var hasFailed = false
        repeat {
            do throws(FileError) {
                try fileSystem.syncUnlikeTemporary()
                hasFailed = false
            } catch {
                if !hasFailed {
                    fileSystem.logger.error(
                        "failed to look at temporary files; trying again", metadata: ["error": "\(error)"])
                }
                hasFailed = true
            }
        } while (try? await fileSystem.environment.sleep(Self.temporaryPause)) != nil
    }
}
