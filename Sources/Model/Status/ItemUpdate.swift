/// One line of ``FollowRequest``: the items at and below a path, then every change of them.
///
///     {"item":{…}}                          an item, or its new state: the fields of `ItemStatus`
///     {"gathered":{"count":20000}}          all items were listed; from here on, changes
///     {"moved":{"from":"a.txt","item":{…}}} moved or renamed within the path; a directory with everything in it
///     {"removed":{"path":"a.txt"}}          deleted or moved away; a directory with everything in it
package enum ItemUpdate: Hashable, Sendable {
    case item(ItemStatus)
    case gathered(count: Int)
    case moved(from: String, ItemStatus)
    case removed(path: String)
}

extension ItemUpdate: Codable {
    private enum Key: String, CodingKey { case item, gathered, moved, removed }
    private struct Gathered: Codable { var count: Int }
    private struct Moved: Codable {
        var from: String
        var item: ItemStatus
    }
    private struct Removed: Codable { var path: String }

    package init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        switch object.allKeys.first {
        case .item: self = .item(try object.decode(ItemStatus.self, forKey: .item))
        case .gathered: self = .gathered(count: try object.decode(Gathered.self, forKey: .gathered).count)
        case .moved:
            let body = try object.decode(Moved.self, forKey: .moved)
            self = .moved(from: body.from, body.item)
        case .removed: self = .removed(path: try object.decode(Removed.self, forKey: .removed).path)
        case nil:
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "an update of another version"))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        switch self {
        case .item(let status): try object.encode(status, forKey: .item)
        case .gathered(let count): try object.encode(Gathered(count: count), forKey: .gathered)
        case .moved(let from, let status): try object.encode(Moved(from: from, item: status), forKey: .moved)
        case .removed(let path): try object.encode(Removed(path: path), forKey: .removed)
        }
    }
}
