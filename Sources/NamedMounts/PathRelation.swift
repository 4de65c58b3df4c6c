/// How two absolute paths without symbolic links lie to each other. Bytes are compared, not characters.
package enum PathRelation {
    case same, inside, around, apart

    package init(_ one: String, _ other: String) {
        let (one, other) = (Self.parts(one), Self.parts(other))
        self =
            if one == other { .same } else if one.starts(with: other) { .inside } else if other.starts(with: one) {
                .around
            } else { .apart }
    }

    private static func parts(_ path: String) -> [[UInt8]] {
        path.utf8.split(separator: UInt8(ascii: "/")).map(Array.init)
    }
}
