/// One version of a file: the current one, an earlier one, or one that lost a conflict.
open class NSFileVersion: NSObject, @unchecked Sendable {
    let itemURL: URL

    init(item: URL, id: String) {
        itemURL = item
        super.init()
    }
}
