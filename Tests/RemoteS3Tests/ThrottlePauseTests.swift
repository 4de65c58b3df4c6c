import Remote
import Testing

@testable import RemoteS3

@Suite struct ThrottlePauseTests {
    @Test func `the pause doubles with each answer to a request that was made after it, up to a minute`() {
        var pause = ThrottlePause()
        var now = Duration.zero
        var pauses: [Duration] = []
        for _ in 0..<13 {
            let rest = pause.admit(at: now)
            #expect(rest == nil)
            pause.noteThrottled(begun: now, at: now, requested: nil, chance: 1)
            pauses.append(pause.rest(at: now))
            now += pause.rest(at: now)
        }
        let milliseconds = [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000, 60_000]
        #expect(pauses == milliseconds.map { .milliseconds($0) })
    }

    @Test func `chance shortens the pause by up to half, but never what the store requests`() {
        func rest(_ chance: Double, _ requested: Duration?) -> Duration {
            var pause = ThrottlePause()
            pause.noteThrottled(begun: .zero, at: .zero, requested: requested, chance: chance)
            return pause.rest(at: .zero)
        }
        #expect(rest(0, nil) == .milliseconds(50))
        #expect(rest(0, .seconds(30)) == .milliseconds(30_050))
        #expect(rest(1, .seconds(30)) == .milliseconds(30_100))
        #expect(rest(1, .seconds(3600)) == .seconds(300) + .milliseconds(100))
    }

    @Test func `requests that were under way together count once`() {
        var pause = ThrottlePause()
        pause.noteThrottled(begun: .seconds(1), at: .seconds(2), requested: nil, chance: 1)
        for _ in 0..<30 { pause.noteThrottled(begun: .seconds(1), at: .seconds(2), requested: nil, chance: 1) }
        #expect(pause.rest(at: .seconds(2)) == .milliseconds(100))
        pause.noteThrottled(begun: .seconds(1), at: .seconds(2), requested: .seconds(5), chance: 1)
        #expect(pause.rest(at: .seconds(2)) == .seconds(5))
    }

    @Test func `after the pause one request is made, and the others wait for its answer`() {
        var pause = ThrottlePause()
        pause.noteThrottled(begun: .zero, at: .zero, requested: .seconds(5), chance: 1)
        let end = Duration.milliseconds(5100)
        func admit(_ now: Duration) -> Duration? { pause.admit(at: now) }
        #expect(admit(.seconds(5)) == .milliseconds(100))
        #expect(admit(end) == nil)
        #expect(admit(end) == ThrottlePause.probeSpan)
        // Without an answer, another one is made.
        #expect(admit(end + ThrottlePause.probeSpan) == nil)
        // An answer to an older request says nothing about now.
        let isEarly = pause.noteAnswered(begun: .seconds(-1))
        #expect(!isEarly && pause.isPaused)
        let isAnswered = pause.noteAnswered(begun: end)
        #expect(isAnswered && admit(end) == nil && admit(end) == nil)
    }
}
