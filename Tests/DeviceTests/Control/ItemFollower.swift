import Control
import FileSystem
import Foundation
import Model
import Synchronization
import VirtualTime

/// A client of `FollowRequest` in this process: what it knows of the items from the lines alone.
final class ItemFollower: Sendable {
    fileprivate struct State {
        var items: [Data: ItemStatus] = [:]
        var lines: [ItemUpdate] = []
        var gatheredCount: Int?
        var error: FileError?
    }

    private let state = Mutex(State())
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(of path: String = "", on device: TestDevice, isReading: Bool = true) throws {
        let feed = try ItemFeed(device.fileSystem, below: path)
        guard isReading else { return }
        let task = Task(executorPreference: VirtualTimeExecutor.current) {
            var feed = feed
            defer { feed.end() }
            do throws(FileError) {
                while !Task.isCancelled { self.add(try await feed.next()) }
            } catch {
                self.state.withLock { $0.error = error }
            }
        }
        self.task.withLock { $0 = task }
    }

    func stop() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    /// By the bytes of the paths.
    var paths: [String] { state.withLock { $0.items.keys.map { String(decoding: $0, as: UTF8.self) } }.sorted() }
    var items: [ItemStatus] { state.withLock { Array($0.items.values) }.sorted { $0.path < $1.path } }
    var lines: [ItemUpdate] { state.withLock { $0.lines } }
    var gatheredCount: Int? { state.withLock { $0.gatheredCount } }
    var error: FileError? { state.withLock { $0.error } }

    subscript(path: String) -> ItemStatus? { state.withLock { $0.items[Data(path.utf8)] } }

    func forgetLines() { state.withLock { $0.lines = [] } }

    /// The states of one item that were told, in their order.
    func states(of path: String) -> [ItemStatus] {
        lines.compactMap { line in
            switch line {
            case .item(let status), .moved(_, let status): status.path == path ? status : nil
            case .gathered, .removed: nil
            }
        }
    }

    private func add(_ updates: [ItemUpdate]) {
        state.withLock { state in
            for update in updates {
                state.lines.append(update)
                switch update {
                case .item(let status): state.items[Data(status.path.utf8)] = status
                case .gathered(let count): state.gatheredCount = count
                case .removed(let path): state.take(path)
                case .moved(let from, let status):
                    for (inner, item) in state.take(from) {
                        var item = item
                        item.path = status.path + inner
                        state.items[Data(item.path.utf8)] = item
                    }
                    state.items[Data(status.path.utf8)] = status
                }
            }
        }
    }
}

extension ItemFollower.State {
    /// Removes an item and what is in it.
    /// - Returns: The items, and the rest of their paths.
    @discardableResult
    fileprivate mutating func take(_ path: String) -> [(String, ItemStatus)] {
        var taken: [(String, ItemStatus)] = []
        for (key, item) in items {
            let bytes = Array(key)
            let isInside = path.isEmpty || bytes.elementsEqual(path.utf8) || bytes.starts(with: "\(path)/".utf8)
            guard isInside else { continue }
            items[key] = nil
            taken.append((String(decoding: bytes.dropFirst(path.utf8.count), as: UTF8.self), item))
        }
        return taken
    }
}

extension TestDevice {
    /// The status of every item at and below a path, one request each.
    func statuses(_ path: String = "") throws -> [ItemStatus] {
        guard let status = try? ItemStates(fileSystem).itemStatus(path) else { return [] }
        var all = [status]
        guard status.kind == .directory else { return all }
        for name in try names(path) { all += try statuses(path.isEmpty ? name : "\(path)/\(name)") }
        return all
    }
}
