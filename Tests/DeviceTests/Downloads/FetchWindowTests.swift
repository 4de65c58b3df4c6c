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

    @Test func `the window starts at one piece and doubles after each quick GET, up to 8`() {
        #expect(FetchWindow().pieceCount == 1)
        #expect(pace(after: [(1, 5)]).pieceCount == 2)
        #expect(pace(after: [(1, 5), (2, 100)]).pieceCount == 4)
        #expect(pace(after: [(1, 5), (2, 5), (4, 5)]).pieceCount == 8)
        #expect(pace(after: [(1, 5), (2, 5), (4, 5), (8, 5)]).pieceCount == 8)
    }

    @Test func `a slow GET halves the window, an average one leaves it unchanged`() {
        #expect(pace(after: [(1, 5), (2, 101)]).pieceCount == 2)
        #expect(pace(after: [(1, 5), (2, 5), (4, 400)]).pieceCount == 4)
        #expect(pace(after: [(1, 5), (2, 5), (4, 401)]).pieceCount == 2)
        #expect(pace(after: [(1, 5000)]).pieceCount == 1)
    }

    @Test func `a quick GET of fewer pieces than the window does not widen it`() {
        #expect(pace(after: [(1, 5), (2, 5), (1, 1)]).pieceCount == 4)
    }

    @Test func `a slow GET that began with a smaller window halves that smaller window`() {
        #expect(pace(after: [(1, 5), (2, 5), (4, 5), (2, 1000)]).pieceCount == 1)
    }
}
