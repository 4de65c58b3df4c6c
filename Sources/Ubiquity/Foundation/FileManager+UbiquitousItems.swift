import ControlAPI
import ControlClient
import Glibc
import Linux
import Model

extension FileManager {
    /// Whether an item is in a container and synced; says nothing of whether it is uploaded. `false` for a missing item.
    public func isUbiquitousItem(at url: URL) -> Bool {
        guard url.isFileURL, let value = try? ExtendedAttribute.control("isUbiquitousItem", of: url.path) else {
            return false
        }
        return value == "1"
    }

    /// Starts the download of a file, or of all files in a directory, that are not local in their newest version.
    ///
    /// Returns at once. Follow the download by `ubiquitousItemDownloadingStatusKey`, or by an `NSMetadataQuery`. Also
    /// succeeds when nothing has to be downloaded.
    /// - Throws: `NSCocoaErrorDomain` 4 for a missing item, 3328 for one outside any container, 513 without permission,
    ///   4355 when the daemon has ended.
    public func startDownloadingUbiquitousItem(at url: URL) throws {
        try UbiquitousItem.require(url)
        do throws(FileError) {
            try ExtendedAttribute.setControl("download", to: "1", of: url.path)
        } catch {
            throw CocoaFailure.error(error, .writing, url)
        }
    }

    /// Removes the local bytes of a file, or of all files in a directory; the items stay and download again on access.
    ///
    /// Takes no claim: do not call it within `coordinate`. There it does not deadlock, but a claimed file is refused.
    /// In a directory, everything that can be evicted is evicted, and the first refusal is thrown at the end.
    ///
    /// - Throws: `NSCocoaErrorDomain` 513, with `EBUSY` underlying, for a file that is not uploaded, pinned, claimed, open
    ///   for writing, or presented by a program that refuses; 4 for a missing item; 3328 for one outside any container;
    ///   4355 when the store cannot be asked whether it has the bytes.
    public func evictUbiquitousItem(at url: URL) throws {
        try UbiquitousItem.require(url)
        // Over the socket: the kernel locks an item whose attribute is set, and a presenter that saves its changes when
        // it is asked would wait for the eviction that waits for it.
        guard let (container, path) = MountedContainer.containing(url), let socket = container.socketPath else {
            return try UbiquitousItem.evictByAttribute(url)
        }
        do throws(ControlError) {
            _ = try BlockingControlClient(socketPath: socket).send(EvictRequest(path: path))
        } catch {
            throw CocoaFailure.error(error, .writing, url)
        }
    }

    /// Moves an item into a container, or out of it.
    ///
    /// Makes a coordinated write of its own, so call it on no thread that a presenter of the item needs. Into a
    /// container, and from one container to another, the item is moved by renaming or, across file systems, by copying
    /// and then deleting: whatever happens, at least one of the two places has the whole item. Out of a container the
    /// bytes are downloaded first, and then the item is deleted from the container, on all devices.
    ///
    /// - Parameters:
    ///   - flag: `true` to move to a destination in a container, `false` to move to one outside.
    ///   - url: The item.
    ///   - destinationURL: Its new URL; must not exist. The directory it is in must.
    /// - Throws: `NSCocoaErrorDomain` 516 when the destination exists, 514 when it is on the wrong side, 4 for a missing
    ///   item, 3328 for a FIFO, socket or device, 4355 when the bytes cannot be downloaded, 640 without space; and the
    ///   errors of `NSFileCoordinator`.
    public func setUbiquitous(_ flag: Bool, itemAt url: URL, destinationURL: URL) throws {
        guard (MountedContainer.containing(destinationURL) != nil) == flag, destinationURL.isFileURL else {
            let reason = flag ? "The destination is not in a container." : "The destination is in a container."
            throw CocoaFailure.error(.fileWriteInvalidFileName, destinationURL, reason: reason)
        }
        if !flag { try startDownloadingUbiquitousItem(at: url) }
        let coordinator = NSFileCoordinator()
        var refusal: NSError?
        var outcome: Result<Void, FileError> = .failure(FileError(.cancelled, url.path))
        coordinator.coordinate(
            writingItemAt: url, options: .forMoving, writingItemAt: destinationURL, options: .forReplacing,
            error: &refusal
        ) { source, destination in
            coordinator.item(at: source, willMoveTo: destination)
            outcome = Result { () throws(FileError) in try ItemMove.move(source.path, to: destination.path) }
            if case .success = outcome { coordinator.item(at: source, didMoveTo: destination) }
        }
        if let refusal { throw refusal }
        do throws(FileError) {
            try outcome.get()
        } catch {
            throw CocoaFailure.error(error, .writing, error.code == .exists ? destinationURL : url)
        }
    }

    /// Not supported: containers have no public links.
    ///
    /// - Throws: Always `NSCocoaErrorDomain` 3328 (`featureUnsupported`).
    public func url(
        forPublishingUbiquitousItemAt url: URL, expiration outDate: UnsafeMutablePointer<NSDate?>? = nil
    ) throws -> URL {
        throw CocoaFailure.error(.featureUnsupported, url, reason: "Containers have no public links.")
    }
}

enum UbiquitousItem {
    /// - Throws: `NSCocoaErrorDomain` 4 when there is no such item, 3328 when it is in no container.
    static func require(_ url: URL) throws {
        guard url.isFileURL else { throw CocoaFailure.error(.fileReadUnsupportedScheme, url) }
        do throws(FileError) {
            _ = try FileStatus(of: url.path)
            if try ExtendedAttribute.control("isUbiquitousItem", of: url.path) != nil { return }
        } catch {
            throw CocoaFailure.error(error, .writing, url)
        }
        throw CocoaFailure.error(.featureUnsupported, url, reason: "The item is not in a container.")
    }

    /// Evicts items of a mount whose socket this user may not use, file by file: the kernel locks the item, and in a
    /// locked directory names cannot be looked up.
    ///
    /// - Throws: The first refusal, after everything else is evicted.
    static func evictByAttribute(_ url: URL) throws(CocoaError) {
        var refusal: CocoaError?
        for file in try files(at: url) {
            do throws(FileError) {
                try ExtendedAttribute.setControl("evict", to: "1", of: file)
            } catch {
                if error.code == .notFound, file != url.path { continue }  // removed meanwhile
                let failure = CocoaFailure.error(error, .writing, URL(fileURLWithPath: file))
                guard error.code == .busy else { throw failure }
                refusal = refusal ?? failure
            }
        }
        if let refusal { throw refusal }
    }

    /// The item itself if it is a file, or the files below it.
    private static func files(at url: URL) throws(CocoaError) -> [String] {
        do throws(FileError) {
            var files: [String] = []
            var waiting = [url.path]
            while let path = waiting.popLast() {
                guard let status = try FileStatus.ifPresent(path) else { continue }
                if status.kind == S_IFREG { files.append(path) }
                guard status.kind == S_IFDIR else { continue }
                waiting += try SystemCalls.names(in: path).map { "\(path)/\($0)" }
            }
            return files
        } catch {
            throw CocoaFailure.error(error, .writing, url)
        }
    }
}
