import Hummingbird
import NIOCore

/// What the dashboard knows of a request besides its bytes.
struct DashboardContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The request is the page's: its connection stays for as long as the page wants.
    func admit() { channel.triggerUserOutboundEvent(StrangerDeadline.Admission(), promise: nil) }
}
