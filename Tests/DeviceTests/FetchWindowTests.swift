import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite struct FetchWindowTests {
    private func pace(after gets: [(pieceCount: Int, milliseconds: Int)]) -> FetchWindow {
        var pace = FetchWindow()
        for get in gets { pace.note(pieceCount: get.pieceCount, in: .milliseconds(get.milliseconds)) }
        return pace
    }

    @Test func `the first GET brings one piece, and quick ones twice as many each time, up to 8`() {
        #expect(FetchWindow().pieceCount == 1)
        #expect(pace(after: [(1, 5)]).pieceCount == 2)
        #expect(pace(after: [(1, 5), (2, 100)]).pieceCount == 4)
        #expect(pace(after: [(1, 5), (2, 5), (4, 5)]).pieceCount == 8)
        #expect(pace(after: [(1, 5), (2, 5), (4, 5), (8, 5)]).pieceCount == 8)
    }

    @Test func `one that took its time changes nothing, and a slow one halves`() {
        #expect(pace(after: [(1, 5), (2, 101)]).pieceCount == 2)
        #expect(pace(after: [(1, 5), (2, 5), (4, 400)]).pieceCount == 4)
        #expect(pace(after: [(1, 5), (2, 5), (4, 401)]).pieceCount == 2)
        #expect(pace(after: [(1, 5000)]).pieceCount == 1)
    }

    @Test func `what came quickly only because it was little says nothing`() {
        #expect(pace(after: [(1, 5), (2, 5), (1, 1)]).pieceCount == 4)
    }

    @Test func `a slow GET that began when they were shorter makes none longer`() {
        #expect(pace(after: [(1, 5), (2, 5), (4, 5), (2, 1000)]).pieceCount == 1)
    }
}
