import FileSystem
import Glibc
import Model
import Replica

extension Program {
    enum Action: CaseIterable {
        case create, overwrite, append, truncate, empty, save, writeOpen, readOpen, close, synchronize
        case makeDirectory, removeDirectory, remove, rename, renameDirectory, exchange, link, makeLink
        case chmod, setTime, setAttribute, copy
        case read, list, evict, download, pin, unpin, sync
        case claimToRead, claimToWrite, claimBatch, present, withdraw, endSession

        /// Actions that change nothing that others see.
        static let reading: [Action] = [.read, .read, .list, .evict, .download, .pin, .unpin, .sync]
        /// Actions of programs with a session; with `--claims`.
        static let coordinating: [Action] = [
            .claimToRead, .claimToRead, .claimToWrite, .claimToWrite, .claimToWrite, .claimToWrite, .claimBatch,
            .present, .present, .withdraw, .endSession,
        ]
        static let coordinatingShare = 0.4
        /// Frequent actions are listed several times.
        static let all: [Action] =
            allCases.filter { !coordinating.contains($0) } + [
                .create, .create, .create, .overwrite, .overwrite, .overwrite, .append, .save, .save, .writeOpen,
                .writeOpen,
                .makeDirectory, .remove, .rename, .rename, .read, .evict, .download,
            ]
    }

    mutating func perform(_ action: Action) async throws {
        switch action {
        case .create: try await create()
        case .overwrite: try await overwrite()
        case .append: try await append()
        case .truncate: try await truncate()
        case .empty: try await empty()
        case .save: try await save()
        case .writeOpen: try await writeOpen()
        case .readOpen: try await readOpen()
        case .close: try await closeOne()
        case .synchronize: try await synchronize()
        case .makeDirectory: try makeDirectory()
        case .removeDirectory: try await removeDirectory()
        case .remove: try await remove()
        case .rename: try await rename([.file, .symbolicLink], mode: random.happens(0.8) ? .replace : .noReplace)
        case .renameDirectory: try await rename([.directory], mode: .replace)
        case .exchange: try await exchange()
        case .link: try link()
        case .makeLink: try await makeLink()
        case .chmod: try chmod()
        case .setTime: try setTime()
        case .setAttribute: try await setAttribute()
        case .copy: try await copy()
        case .read: try await read()
        case .list: try list()
        case .evict: try await evict()
        case .download: try await download()
        case .pin: try setPinned(true)
        case .unpin: try setPinned(false)
        case .sync: try await sync()
        case .claimToRead: try await claimToRead()
        case .claimToWrite: try await claimToWrite()
        case .claimBatch: try await claimBatch()
        case .present: try present()
        case .withdraw: try withdraw()
        case .endSession: endSession()
        }
    }
}
