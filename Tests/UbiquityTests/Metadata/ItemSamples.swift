import ControlClient
import Foundation
import Model
import Synchronization

@testable import Ubiquity

extension ItemStatus {
    /// A downloaded file, or an empty directory.
    static func sample(
        _ path: String, kind: ItemKind = .file, item: ItemID? = nil, size: Int64 = 1,
        status downloadingStatus: DownloadingStatus = .current, percent: Double = 100, isUbiquitous: Bool = true
    ) -> ItemStatus {
        var status = ItemStatus(path: path, kind: kind)
        status.item = item
        status.logicalSize = size
        status.downloadingStatus = downloadingStatus
        status.percentDownloaded = percent
        status.isDownloading = percent > 0 && percent < 100
        status.isUbiquitousItem = isUbiquitous
        status.modified = "2026-01-31T12:00:00.500000000Z"
        status.contentType = kind == .directory ? "public.folder" : "com.adobe.pdf"
        return status
    }
}

extension ItemID {
    /// The same for the same number.
    static func sample(_ number: UInt8) -> ItemID {
        ItemID(uuid: UUID(uuid: (number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
    }
}

/// A daemon that reports what a test says.
final class FakeDaemon: Sendable {
    private struct Connection {
        let onUpdate: @Sendable (ItemUpdate) -> Void
        let onEnd: @Sendable (ControlError) -> Void
    }

    private let connections = Mutex<[Connection]>([])
    private let items: Mutex<[ItemStatus]>

    init(_ items: [ItemStatus]) { self.items = Mutex(items) }

    /// Lists its items to each connection.
    var stream: ItemStream {
        ItemStream { _, _, onUpdate, onEnd in
            self.connections.withLock { $0.append(Connection(onUpdate: onUpdate, onEnd: onEnd)) }
            let items = self.items.withLock { $0 }
            for item in items { onUpdate(.item(item)) }
            onUpdate(.gathered(count: items.count))
            return {}
        }
    }

    func send(_ update: ItemUpdate) { connections.withLock { $0.last }?.onUpdate(update) }

    /// Ends the connection; the next one lists these items.
    func restart(with items: [ItemStatus]) {
        self.items.withLock { $0 = items }
        connections.withLock { $0.last }?.onEnd(.daemonUnreachable("killed"))
    }
}
