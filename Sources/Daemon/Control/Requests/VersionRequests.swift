import ControlAPI
import FileSystem
import Hummingbird
import Model
import ServiceLifecycle

extension VersionsRequest: PerformedQuestion {
    static var work: ControlWork { .endingWithClient }

    func perform(in daemon: ControlledDaemon) throws(FileError) -> [ItemVersion] {
        try daemon.fileSystem.versions(item)
    }
}

extension ConflictsRequest: PerformedQuestion {
    static var work: ControlWork { .endingWithClient }

    func perform(in daemon: ControlledDaemon) throws(FileError) -> [ConflictedItem] {
        try daemon.fileSystem.conflicts()
    }
}

extension VersionContentRequest: AnsweredRequest {
    static func answer(_ exchange: ControlExchange) async throws -> Response {
        let question = try Self(query: exchange.query)
        let bytes = try await cancelWhenGracefulShutdown {
            try await exchange.daemon.fileSystem.versionBytes(question.item, id: question.id)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/octet-stream"],
            body: ResponseBody(contentLength: Int(bytes.byteCount)) { writer in
                var bytes = bytes
                // An error breaks the connection: the client sees that bytes are missing from the announced length.
                while let piece = try await bytes.next() { try await writer.write(ByteBuffer(bytes: piece)) }
                try await writer.finish(nil)
            })
    }
}

extension ResolveRequest: DoneOrder {
    func perform(in daemon: ControlledDaemon) async throws(FileError) {
        try await daemon.fileSystem.resolve(item, keep: VersionChoice(keep))
    }
}

extension RestoreVersionRequest: DoneOrder {
    func perform(in daemon: ControlledDaemon) async throws(FileError) {
        try await daemon.fileSystem.restoreVersion(item, id: id)
    }
}

extension DiscardVersionRequest: DoneOrder {
    func perform(in daemon: ControlledDaemon) throws(FileError) { try daemon.fileSystem.discardVersion(item, id: id) }
}

extension MarkVersionResolvedRequest: DoneOrder {
    func perform(in daemon: ControlledDaemon) async throws(FileError) {
        try await daemon.fileSystem.markVersionResolved(item, id: id)
    }
}

extension RestoreDeletedRequest: PerformedOrder {
    func perform(in daemon: ControlledDaemon) async throws(FileError) -> RestoredItem {
        RestoredItem(path: try await daemon.fileSystem.restoreDeleted(item))
    }
}
