import ControlAPI
import Foundation
import Model
import Testing

/// The lines of a session have the documented format.
@Suite struct SessionLineTests {
    private static func claim() -> ClaimRequest {
        var request = ClaimRequest(
            claim: 1,
            items: [.init("a.txt", writing: "plain"), .init("b", reading: ["withoutChanges", "resolvesSymbolicLink"])])
        request.mode = .batch
        request.coordinator = "c"
        request.purpose = "p"
        request.presenter = 7
        request.fromPresenter = 8
        request.within = [2]
        request.timeoutSeconds = 10
        return request
    }

    private static func presenter() -> PresenterRequest {
        var request = PresenterRequest(presenter: 7, path: "a.txt", methods: [.relinquishToWriter, .save, .didChange])
        request.purpose = "p"
        request.observedAttributes = ["NSURLUbiquitousItemIsUploadedKey"]
        return request
    }

    private static func news() -> PresenterNews {
        var news = PresenterNews(presenter: 7, notice: .subitemDidMove, path: "b.txt")
        news.from = "a.txt"
        news.keys = ["NSURLUbiquitousItemIsUploadedKey"]
        news.version = "v1"
        return news
    }

    static let requests: [(SessionRequest, String)] = [
        (
            .claim(ClaimRequest(claim: 1, items: [.init("a.txt", writing: "plain")])),
            #"{"claim":{"claim":1,"items":[{"path":"a.txt","writing":"plain"}]}}"#
        ),
        (
            .claim(claim()),
            #"{"claim":{"claim":1,"coordinator":"c","fromPresenter":8,"items":[{"path":"a.txt","writing":"plain"},"#
                + #"{"path":"b","reading":["withoutChanges","resolvesSymbolicLink"]}],"mode":"batch","presenter":7,"#
                + #""purpose":"p","timeoutSeconds":10,"within":[2]}}"#
        ),
        (.release(1), #"{"release":{"claim":1}}"#),
        (.cancel(1), #"{"cancel":{"claim":1}}"#),
        (.cancelCoordinator("c"), #"{"cancelCoordinator":{"coordinator":"c"}}"#),
        (
            .present(presenter()),
            #"{"present":{"methods":["relinquishToWriter","save","didChange"],"#
                + #""observedAttributes":["NSURLUbiquitousItemIsUploadedKey"],"path":"a.txt","presenter":7,"purpose":"p"}}"#
        ),
        (
            .present(PresenterRequest(presenter: 7, path: nil, methods: [])),
            #"{"present":{"methods":[],"presenter":7}}"#
        ),
        (.withdraw(7), #"{"withdraw":{"presenter":7}}"#),
        (.packages(["csdoc"]), #"{"packages":{"extensions":["csdoc"]}}"#),
        (.answer(PresenterReply(question: 12)), #"{"answer":{"question":12}}"#),
        (
            .answer(PresenterReply(question: 12, reacquires: true, error: "no")),
            #"{"answer":{"error":"no","question":12,"reacquires":true}}"#
        ),
    ]

    static let events: [(SessionEvent, String)] = [
        (.welcome(client: 3, keepsClaims: true), #"{"welcome":{"client":3,"keepsClaims":true}}"#),
        (.waiting(claim: 1, for: "dewpoint(812)"), #"{"waiting":{"claim":1,"for":"dewpoint(812)"}}"#),
        (
            .downloading(claim: 1, bytesDone: 0, bytesTotal: 9),
            #"{"downloading":{"bytesDone":0,"bytesTotal":9,"claim":1}}"#
        ),
        (.granted(claim: 1, id: 88, paths: ["a/b.txt"]), #"{"granted":{"claim":1,"id":88,"paths":["a/b.txt"]}}"#),
        (.released(claim: 1), #"{"released":{"claim":1}}"#),
        (
            .ended(ClaimEnded(claim: 1, reason: .timedOut, code: .timedOut, message: "late")),
            #"{"ended":{"claim":1,"code":"timedOut","message":"late","reason":"timedOut"}}"#
        ),
        (
            .ask(PresenterQuestion(question: 12, presenter: 7, message: .accommodateSubitemDeletion, path: "d/e")),
            #"{"ask":{"message":"accommodateSubitemDeletion","path":"d/e","presenter":7,"question":12}}"#
        ),
        (.reacquire(presenter: 7, question: 12), #"{"reacquire":{"presenter":7,"question":12}}"#),
        (
            .notice(news()),
            #"{"notice":{"from":"a.txt","keys":["NSURLUbiquitousItemIsUploadedKey"],"notice":"subitemDidMove","#
                + #""path":"b.txt","presenter":7,"version":"v1"}}"#
        ),
        (.registered(presenter: 7), #"{"registered":{"presenter":7}}"#),
        (
            .refused(RequestRefused(code: .invalid, message: "no")),
            #"{"refused":{"code":"invalid","message":"no"}}"#
        ),
        (
            .refused(RequestRefused(code: .overQuota, message: "no", presenter: 7)),
            #"{"refused":{"code":"overQuota","message":"no","presenter":7}}"#
        ),
    ]

    @Test(arguments: requests) func `a request is encoded and decoded as documented`(
        request: SessionRequest, text: String
    ) throws {
        #expect(String(decoding: try ControlJSON.encode(request), as: UTF8.self) == text)
        #expect(try ControlJSON.decode(SessionRequest.self, from: Data(text.utf8)) == request)
    }

    @Test(arguments: events) func `an event is encoded and decoded as documented`(
        event: SessionEvent, text: String
    ) throws {
        #expect(String(decoding: try ControlJSON.encode(event), as: UTF8.self) == text)
        #expect(try ControlJSON.decode(SessionEvent.self, from: Data(text.utf8)) == event)
    }

    @Test(arguments: [
        "{}", "[]", #"{"what":{}}"#, #"{"release":{}}"#, #"{"release":{"claim":-1}}"#,
        #"{"release":{"claim":1},"cancel":{"claim":1}}"#,
    ])
    func `a line that is not a request fails to decode`(text: String) {
        #expect(throws: DecodingError.self) {
            try ControlJSON.decode(SessionRequest.self, from: Data(text.utf8))
        }
    }
}
