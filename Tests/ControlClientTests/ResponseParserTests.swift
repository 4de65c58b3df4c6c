import Testing

@testable import ControlClient

/// The random numbers of a seed.
private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 33)
    }
}

@Suite struct ResponseParserTests {
    /// What a response is parsed into, with the parts of the body joined.
    private struct Parsed: Equatable {
        var status: Int?
        var body = ""
        var isComplete = false
        var error: ControlError?
    }

    /// - Parameter cuts: How many bytes arrive at a time.
    private static func parse(_ text: String, cuts: () -> Int = { .max }, closing: Bool = true) -> Parsed {
        var parser = ResponseParser()
        var parsed = Parsed()
        var body: [UInt8] = []
        var rest = Array(text.utf8)[...]
        do throws(ControlError) {
            repeat {
                let piece = rest.prefix(cuts())
                rest = rest.dropFirst(piece.count)
                parser.append(piece)
                while let part = try parser.next() {
                    switch part {
                    case .status(let status): parsed.status = status
                    case .body(let bytes): body += bytes
                    case .end: parsed.isComplete = true
                    }
                }
            } while !rest.isEmpty
            if closing {
                try parser.finish()
                parsed.isComplete = true
            }
        } catch {
            parsed.error = error
        }
        parsed.body = String(decoding: body, as: UTF8.self)
        return parsed
    }

    private static let complete: [(text: String, parsed: Parsed)] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Parsed(status: 200, body: "hello", isComplete: true)),
        ("HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", Parsed(status: 200, isComplete: true)),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;a=b\r\nlo\r\n0\r\nX: y\r\n\r\n",
            Parsed(status: 200, body: "hello", isComplete: true)
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx",
            Parsed(status: 404, body: "x", isComplete: true)
        ),
        ("HTTP/1.0 200 OK\r\n\r\nto the end", Parsed(status: 200, body: "to the end", isComplete: true)),
        ("HTTP/1.1 204 None\r\nContent-Length: 9\r\n\r\n", Parsed(status: 204, isComplete: true)),
        ("HTTP/1.1 307 Elsewhere\nLocation: x\nContent-Length: 0\n\n", Parsed(status: 307, isComplete: true)),
    ]

    @Test func `responses are the same in whatever pieces they arrive`() {
        for (text, expected) in Self.complete {
            #expect(Self.parse(text) == expected)
            #expect(Self.parse(text, cuts: { 1 }) == expected)
            for seed in 0..<200 as Range<UInt64> {
                var numbers = Numbers(state: seed)
                #expect(Self.parse(text, cuts: { Int.random(in: 1...9, using: &numbers) }) == expected)
            }
        }
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 999 OK\r\n\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    ])
    func `what is no response of HTTP is refused`(text: String) {
        for size in [1, Int.max] {
            guard case .notUnderstood = Self.parse(text, cuts: { size }).error else {
                Issue.record("\(Self.parse(text, cuts: { size }))")
                continue
            }
        }
    }

    @Test func `a response that was cut off is no answer`() {
        for (text, _) in Self.complete where !text.hasPrefix("HTTP/1.0") {
            for count in 0..<text.utf8.count {
                let error = Self.parse(String(decoding: text.utf8.prefix(count), as: UTF8.self)).error
                #expect(
                    error
                        == .daemonUnreachable(count == 0 ? "it disconnected before answering" : "the connection ended"))
            }
        }
    }

    /// The peers that never end what they have begun.
    @Test(arguments: [
        ("", "x"), ("HTTP/1.1 200 OK\r\n", "A: b\r\n"), ("HTTP/1.1 200 OK\r\nA: ", "b"),
        ("", "HTTP/1.1 100 Continue\r\n\r\n"), ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "x"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n"),
    ])
    func `an endless head, line or trailer is refused within its limit`(start: String, again: String) {
        let text = start + String(repeating: again, count: (ResponseParser.headByteLimit + 1024) / again.utf8.count)
        for size in [7, 4096, Int.max] {
            let parsed = Self.parse(text, cuts: { size }, closing: false)
            guard case .notUnderstood = parsed.error else {
                Issue.record("\(parsed)")
                continue
            }
        }
    }

    @Test func `no bytes make it fail otherwise`() {
        for seed in 0..<3000 as Range<UInt64> {
            var numbers = Numbers(state: seed)
            var bytes = Array(Self.complete.randomElement(using: &numbers)!.text.utf8)
            for _ in 0..<Int.random(in: 0...4, using: &numbers) {
                let index = Int.random(in: bytes.indices, using: &numbers)
                switch Int.random(in: 0...2, using: &numbers) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &numbers)
                case 1: bytes.insert(UInt8.random(in: 0...255, using: &numbers), at: index)
                default: if bytes.count > 1 { bytes.remove(at: index) }
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let whole = Self.parse(text)
            let parts = Self.parse(text, cuts: { Int.random(in: 1...5, using: &numbers) })
            // What was read before a fault depends on the pieces.
            #expect(whole.error == nil ? whole == parts : parts.error != nil)
        }
    }
}
