import Model
import Remote
import Sync

/// Publishes to followers how downloads and uploads start, advance and end.
///
/// Percentages are compared from time to time, not published for every piece, and only while there are followers.
package final class TransferEvents: Sendable {
    /// The interval at which percentages are compared: at most five lines a second for an item.
    static let pause = Duration.milliseconds(200)

    private let downloads: Downloads
    private let events: ItemEvents
    private let followers: ItemFollowers
    private let environment: EngineEnvironment
    private let wakes = Signal()

    init(downloads: Downloads, events: ItemEvents, followers: ItemFollowers, environment: EngineEnvironment) {
        self.downloads = downloads
        self.events = events
        self.followers = followers
        self.environment = environment
    }

    /// A transfer has started, or there is a follower.
    package func wake() { wakes.raise() }

    /// Compares percentages until cancelled, while there are transfers and followers.
    ///
    /// - Parameter uploads: The percentages of the uploads under way.
    func run(uploads: @Sendable () -> [InodeNumber: Double]) async {
        while await wakes.wait() {
            var downloaded: [InodeNumber: Double] = [:]
            var uploaded: [InodeNumber: Double] = [:]
            while followers.hasFollowers || events.hasFollowers {
                let nowDownloaded = downloads.percents
                let nowUploaded = uploads()
                publish(nowDownloaded, since: downloaded, UbiquityKeys.percentDownloaded)
                publish(nowUploaded, since: uploaded, UbiquityKeys.percentUploaded)
                if nowDownloaded.isEmpty && nowUploaded.isEmpty { break }
                (downloaded, uploaded) = (nowDownloaded, nowUploaded)
                // Cancelled: the engine shuts down.
                guard (try? await environment.sleep(Self.pause)) != nil else { return }
            }
        }
    }

    private func publish(_ now: [InodeNumber: Double], since last: [InodeNumber: Double], _ keys: Set<String>) {
        for (inode, percent) in now.sorted(by: { $0.key < $1.key }) {
            guard let before = last[inode], before != percent else { continue }
            publish(keys, of: [inode])
        }
    }

    private func publish(_ keys: Set<String>, of inodes: [InodeNumber]) {
        followers.changed(inodes)
        for inode in inodes { events.transferred(keys, of: inode) }
    }

    // MARK: Starts and ends

    func began(downloading inode: InodeNumber) {
        publish(UbiquityKeys.downloading, of: [inode])
        wake()
    }

    /// - Parameter isFinished: Whether the file is local now, which was published already.
    func ended(downloading inode: InodeNumber, isFinished: Bool) {
        if isFinished {
            followers.changed([inode])
        } else {
            publish(UbiquityKeys.downloading.union(UbiquityKeys.downloadingError), of: [inode])
        }
    }

    func began(uploading inode: InodeNumber) {
        publish(UbiquityKeys.uploading, of: [inode])
        wake()
    }

    /// These uploads ended without reaching the container.
    func ended(uploading inodes: [InodeNumber]) { publish(UbiquityKeys.uploading, of: inodes) }
}
