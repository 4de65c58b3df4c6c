import Testing

@testable import RemoteS3

@Suite struct RetryPolicyTests {
    @Test(arguments: [(1, 100), (2, 200), (3, 400), (4, 800)])
    func `the delay doubles per attempt, and jitter reduces it by up to half`(attemptCount: Int, milliseconds: Int) {
        func delay(_ chance: Double) -> Duration? {
            RetryPolicy.delay(afterAttempts: attemptCount, elapsed: .zero, retryAfter: nil, chance: chance)
        }
        #expect(delay(1) == .milliseconds(milliseconds))
        #expect(delay(0) == .milliseconds(milliseconds) * 0.5)
        #expect(delay(0.5) == .milliseconds(milliseconds) * 0.75)
    }

    @Test func `there are at most five attempts`() {
        #expect(RetryPolicy.delay(afterAttempts: 4, elapsed: .zero, retryAfter: nil, chance: 0) != nil)
        #expect(RetryPolicy.delay(afterAttempts: 5, elapsed: .zero, retryAfter: nil, chance: 0) == nil)
    }

    @Test func `no attempt begins after ten seconds`() {
        func delay(_ elapsed: Duration, _ retryAfter: Duration? = nil) -> Duration? {
            RetryPolicy.delay(afterAttempts: 1, elapsed: elapsed, retryAfter: retryAfter, chance: 1)
        }
        #expect(delay(.milliseconds(9900)) == .milliseconds(100))
        #expect(delay(.milliseconds(9901)) == nil)
        #expect(delay(.zero, .seconds(9)) == .milliseconds(9100))
        #expect(delay(.zero, .seconds(10)) == nil)
    }
}
