import Synchronization
import Testing
import Ubiquity

@Suite struct SelectorObserverTests {
    final class Observer: Sendable {
        let calls = Mutex<[String]>([])
        func handle(_ notification: Notification) { calls.withLock { $0.append(notification.name.rawValue) } }
        func plain() { calls.withLock { $0.append("plain") } }
    }

    let center = NotificationCenter()
    let one = NSNotification.Name("one")
    let two = NSNotification.Name("two")

    @Test func `a method is called with the notification, or without a parameter`() {
        let observer = Observer()
        center.addObserver(observer, selector: Observer.handle(_:), name: one, object: nil)
        center.addObserver(observer, selector: Observer.plain, name: two, object: nil)
        center.post(name: one, object: nil)
        center.post(name: two, object: nil)
        #expect(observer.calls.withLock { $0 } == ["one", "plain"])
    }

    @Test func `only notifications of the sender are delivered`() {
        let observer = Observer()
        let sender = NSObject()
        center.addObserver(observer, selector: Observer.handle(_:), name: one, object: sender)
        center.post(name: one, object: NSObject())
        #expect(observer.calls.withLock { $0 } == [])
        center.post(name: one, object: sender)
        #expect(observer.calls.withLock { $0 } == ["one"])
    }

    @Test func `an observer is not kept alive, and needs not be removed`() {
        var observer: Observer? = Observer()
        weak let reference = observer
        center.addObserver(observer!, selector: Observer.handle(_:), name: one, object: nil)
        observer = nil
        #expect(reference == nil)
        center.post(name: one, object: nil)
    }

    @Test func `an observer removes all of its registrations, or those of one name`() {
        let observer = Observer()
        center.addObserver(observer, selector: Observer.handle(_:), name: one, object: nil)
        center.addObserver(observer, selector: Observer.handle(_:), name: two, object: nil)
        center.removeObserver(observer, name: one, object: nil)
        center.post(name: one, object: nil)
        center.post(name: two, object: nil)
        #expect(observer.calls.withLock { $0 } == ["two"])
        center.removeObserver(observer)
        center.post(name: two, object: nil)
        #expect(observer.calls.withLock { $0 } == ["two"])
    }

    @Test func `a registration at another center stays`() {
        let observer = Observer()
        center.addObserver(observer, selector: Observer.handle(_:), name: one, object: nil)
        NotificationCenter.default.removeObserver(observer)
        center.post(name: one, object: nil)
        #expect(observer.calls.withLock { $0 } == ["one"])
    }

    @Test func `an observer may remove itself while it is deallocated`() {
        final class Leaving: Sendable {
            let center: NotificationCenter
            init(_ center: NotificationCenter) {
                self.center = center
                center.addObserver(
                    self, selector: Leaving.handle(_:), name: NSNotification.Name("one"), object: nil)
            }
            func handle(_ notification: Notification) { Issue.record("called after its end") }
            deinit { center.removeObserver(self) }
        }
        for _ in 0..<1000 { _ = Leaving(center) }
        center.post(name: one, object: nil)
    }

    @Test func `the tokens of block observers are removed as before`() {
        let calls = Mutex(0)
        let token = center.addObserver(forName: one, object: nil, queue: nil) { _ in calls.withLock { $0 += 1 } }
        center.post(name: one, object: nil)
        center.removeObserver(token)
        center.post(name: one, object: nil)
        #expect(calls.withLock { $0 } == 1)
    }
}
