import Logging
import Synchronization

/// Why sync is blocked, in a sentence: logged when it begins and when it is over.
final class SyncProblem: Sendable {
    private let text = Mutex<String?>(nil)
    private let over: String
    private let logger: Logger
    private let activity: Activity

    /// - Parameter over: Logged when the problem is over.
    init(over: String, _ context: SyncContext) {
        self.over = over
        logger = context.logger
        activity = context.activity
    }

    var sentence: String? { text.withLock { $0 } }

    func set(_ sentence: String?) {
        let isNew = text.withLock { text in
            defer { text = sentence }
            return text != sentence
        }
        guard isNew else { return }
        if let sentence { logger.warning("\(sentence)") } else { logger.info("\(over)") }
        activity.noteProgress()
    }
}
