import Coordination
import Model

extension AccessKind {
    /// - Throws: ``FileError`` with `invalid` for unknown option names.
    init(_ item: ClaimRequest.Item) throws(FileError) {
        switch (item.reading, item.writing) {
        case (let names?, nil):
            var options: ReadingOptions = []
            for name in names {
                guard let option = ReadingOptions.named(name) else {
                    throw FileError(.invalid, "\(name) is not an option for reading")
                }
                options.formUnion(option)
            }
            self = .read(options)
        case (nil, let name?):
            guard let option = WritingOption.allCases.first(where: { "\($0)" == name }) else {
                throw FileError(
                    .invalid, "\(name) is not one of \(WritingOption.allCases.map { "\($0)" }.joined(separator: ", "))")
            }
            self = .write(option)
        default:
            throw FileError(.invalid, "an item is claimed for reading or for writing: give exactly one")
        }
    }
}

extension ReadingOptions {
    fileprivate static func named(_ name: String) -> ReadingOptions? {
        let all: [ReadingOptions] = [
            .withoutChanges, .resolvesSymbolicLink, .immediatelyAvailableMetadataOnly, .forUploading,
        ]
        return all.first { AccessKind.read($0).optionNames == [name] }
    }
}
