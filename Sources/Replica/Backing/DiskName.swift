/// A name on the disk. Two are equal when their bytes are: a composed and a decomposed `é` are two files, where
/// `String` treats them as one.
struct DiskName: Hashable {
    var string: String

    static func == (left: DiskName, right: DiskName) -> Bool { left.string.utf8.elementsEqual(right.string.utf8) }

    func hash(into hasher: inout Hasher) {
        for byte in string.utf8 { hasher.combine(byte) }
    }
}
