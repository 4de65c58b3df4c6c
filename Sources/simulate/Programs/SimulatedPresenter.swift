import FileSystem
import Model

/// A presenter of an item, as a program of the Ubiquity library has one: it answers questions, as its behaviour says.
struct SimulatedPresenter: Sendable {
    /// The client's number for it.
    let name: UInt64
    let behaviour: Behaviour

    enum Behaviour: CaseIterable {
        case prompt, late
        /// It never answers. Some time afterwards it is withdrawn, or its session ends.
        case silent
        /// It answers with errors.
        case refusing

        /// Frequent ones are listed several times.
        static let all: [Behaviour] = allCases + [.prompt, .prompt, .late]
    }

    /// What it does when it is asked.
    struct Reaction {
        let delay: Duration
        /// `nil` when it does not answer.
        let reply: PresenterReply?
        /// Whether it is withdrawn first: an item is evicted only when nobody presents it.
        let withdraws: Bool
    }

    /// How long it takes at most, in milliseconds.
    private static let lateness = 0...20_000
    /// After how long a silent one ends, in milliseconds.
    private static let silence = 1...60_000

    func reaction(to question: PresenterQuestion, random: inout SeededRandom) -> Reaction {
        var reply: PresenterReply?
        var withdraws = false
        switch (behaviour, question.message) {
        case (.silent, _):
            break
        case (.refusing, .save), (.refusing, .accommodateDeletion), (.refusing, .accommodateEviction):
            reply = PresenterReply(question: question.question, error: "it is refusing")
        case (_, .relinquishToReader), (_, .relinquishToWriter):
            reply = PresenterReply(question: question.question, reacquires: random.happens(0.5))
        case (_, .accommodateEviction):
            withdraws = random.happens(0.5)
            reply = PresenterReply(question: question.question)
        default:
            reply = PresenterReply(question: question.question)
        }
        let delay =
            switch behaviour {
            case .prompt, .refusing: Duration.zero
            case .late: random.milliseconds(Self.lateness)
            case .silent: random.milliseconds(Self.silence)
            }
        return Reaction(delay: delay, reply: reply, withdraws: withdraws)
    }
}
