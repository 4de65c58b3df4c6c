import FileSystem
import Logging
import Model

/// Requests that come again, as the daemon before was killed when it had read them. What it had carried out is not carried
/// out again, but answered; the rest is done as if it came for the first time.
extension Operations {
    /// What a repeated request has made or changed already; `nil` when it is to be carried out.
    static func madeBefore(_ request: Request) -> InodeNumber? {
        guard let number = request.number, number.isRepeated else { return nil }
        do throws(FileError) {
            return try request.fileSystem.inode(madeBy: number)
        } catch {
            // Then nothing else can be read either.
            request.session.logger.error("failed to look up a repeated request", metadata: ["error": "\(error)"])
            return nil
        }
    }

    /// Answers a repeated request that has created a name.
    ///
    /// - Returns: Whether it is answered.
    static func answersCreation(_ request: Request) -> Bool {
        guard let made = madeBefore(request) else { return false }
        request.answer { () throws(FileError) in
            try request.fileSystem.attributes(of: made)
        } with: { reply, attributes in
            reply.newEntry(attributes)
        }
        return true
    }

    /// Answers a repeated request that has removed or moved a name, or changed an attribute.
    ///
    /// - Returns: Whether it is answered.
    static func answersChange(_ request: Request) -> Bool {
        guard madeBefore(request) != nil else { return false }
        Reply(request).done()
        return true
    }
}
