import Model

/// The attributes of OpenVFS, the files on demand of OpenCloud and Nextcloud: read by name, and neither listed nor stored, so that
/// file managers that know them show the states of items.
///
/// Their names and values are those of `openvfconstants.h`, in <https://github.com/opencloud-eu/openvfs>, version 0: MessagePack
/// maps with their keys in order, and a decimal number.
enum OpenVFSAttribute: String, Sendable {
    /// `etag`, `fileid`, `pinstate`, `size` and `state` of an item.
    case data = "user.openvfs.data"
    /// The bytes of a file on this disk.
    case realSize = "user.openvfs.realsize"
    /// Of the root only: `owner` and `version`, by which clients know what is not theirs.
    case registration = "user.openvfs.registration"

    static let owner = "dewpoint"
    static let version: UInt64 = 0

    init?(name: String) {
        guard name.hasBytePrefix("user.openvfs.") else { return nil }
        self.init(rawValue: name)
    }

    private enum State: UInt64 {
        case hydrated, dehydrated, hydrating
    }

    private enum PinState: UInt64 {
        case unspecified, onlineOnly, alwaysLocal, inherited, excluded
    }

    /// - Returns: `nil` where the item has no such attribute.
    func value(of status: ItemStatus) -> [UInt8]? {
        switch self {
        case .data: Self.data(of: status)
        case .realSize: status.kind == .file ? Array(String(Self.realSize(of: status)).utf8) : nil
        case .registration:
            status.path.isEmpty
                ? MessagePack.map([("owner", .text(Self.owner)), ("version", .number(Self.version))]) : nil
        }
    }

    private static func data(of status: ItemStatus) -> [UInt8] {
        let isLocal = status.kind != .file || status.downloadingStatus != .notDownloaded
        let state: State = isLocal ? .hydrated : status.isDownloading ? .hydrating : .dehydrated
        let isExcluded = status.isExcludedFromSync || !status.isUbiquitousItem
        let pinState: PinState = isExcluded ? .excluded : status.pinned ? .alwaysLocal : .unspecified
        return MessagePack.map([
            ("etag", .text(status.etag ?? "")), ("fileid", .text(status.item?.description ?? "")),
            ("pinstate", .number(pinState.rawValue)),
            // What a placeholder stands for: a whole file is as long as it is.
            ("size", .number(isLocal ? 0 : UInt64(clamping: status.logicalSize))),
            ("state", .number(state.rawValue)),
        ])
    }

    private static func realSize(of status: ItemStatus) -> Int64 {
        status.downloadingStatus == .notDownloaded ? 0 : status.logicalSize
    }
}

/// As much of <https://github.com/msgpack/msgpack/blob/master/spec.md> as these attributes need.
private enum MessagePack {
    enum Value {
        case text(String)
        case number(UInt64)
    }

    /// - Parameter members: Fifteen at most.
    static func map(_ members: [(key: String, value: Value)]) -> [UInt8] {
        [0x80 | UInt8(members.count)] + members.flatMap { bytes(.text($0.key)) + bytes($0.value) }
    }

    private static func bytes(_ value: Value) -> [UInt8] {
        switch value {
        case .text(let text):
            let utf8 = Array(text.utf8)
            return switch utf8.count {
            case ..<32: [0xa0 | UInt8(utf8.count)] + utf8
            case ..<256: [0xd9, UInt8(utf8.count)] + utf8
            default: [0xdb] + bytes(utf8.count, width: 4) + utf8
            }
        case .number(let number):
            return switch number {
            case ..<128: [UInt8(number)]
            case ...UInt64(UInt8.max): [0xcc, UInt8(number)]
            case ...UInt64(UInt16.max): [0xcd] + bytes(number, width: 2)
            case ...UInt64(UInt32.max): [0xce] + bytes(number, width: 4)
            default: [0xcf] + bytes(number, width: 8)
            }
        }
    }

    /// The highest byte first.
    private static func bytes(_ number: some BinaryInteger, width: Int) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
