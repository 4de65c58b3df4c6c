import Synchronization
import Testing

@testable import Replica

@Suite(.timeLimit(.minutes(1))) struct IndexJournalTests {
    @Test func `telling of a change takes no longer after many of them`() {
        let journal = IndexJournal()
        let toldCount = Atomic(0)
        journal.deliver { _ in toldCount.add(1, ordering: .relaxed) }
        for sequence in 1...200_000 { journal.publish(IndexChanges(sequence: Int64(sequence))) }
        #expect(toldCount.load(ordering: .relaxed) == 200_000)
    }
}
