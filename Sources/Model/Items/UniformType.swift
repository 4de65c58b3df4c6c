/// What uniform types conform to.
///
/// Covers the types that items get here; any other type counts as data, or as a file package for a directory. Source:
/// Apple's System-Declared Uniform Type Identifiers.
package enum UniformType {
    /// A type and everything that it conforms to, nearest first.
    ///
    /// - Parameter isDirectory: Decides for types that are not in the table.
    package static func tree(of type: String, isDirectory: Bool = false) -> [String] {
        var tree = [type]
        var next = 0
        // The table has no cycles, and no type is added twice.
        while next < tree.count {
            let parents = parents[tree[next]] ?? (next == 0 ? [isDirectory ? "com.apple.package" : "public.data"] : [])
            tree += parents.filter { !tree.contains($0) }
            next += 1
        }
        return tree
    }

    package static func isKnown(_ type: String) -> Bool { parents[type] != nil }

    /// What a document conforms to that is a directory.
    private static let document = ["com.apple.package", "public.composite-content"]

    private static let parents: [String: [String]] = [
        "public.item": [], "public.content": [], "public.data": ["public.item"], "public.directory": ["public.item"],
        "public.folder": ["public.directory"], "com.apple.package": ["public.directory"],
        "com.apple.bundle": ["com.apple.package"], "com.apple.generic-bundle": ["com.apple.bundle"],
        "com.apple.application-bundle": ["com.apple.bundle"], "com.apple.framework": ["com.apple.bundle"],
        "com.apple.plugin": ["com.apple.bundle"], "com.apple.iwork.pages.pages": Self.document,
        "com.apple.iwork.numbers.numbers": Self.document, "com.apple.iwork.keynote.key": Self.document,
        "com.apple.dt.playground": Self.document, "org.textbundle.package": Self.document,
        "public.symlink": ["public.item"], "public.archive": ["public.item"],
        "public.composite-content": ["public.content"], "public.text": ["public.data", "public.content"],
        "public.plain-text": ["public.text"], "net.daringfireball.markdown": ["public.plain-text"],
        "public.html": ["public.text"], "public.xml": ["public.text"], "public.json": ["public.text"],
        "public.delimited-values-text": ["public.text"],
        "public.comma-separated-values-text": ["public.delimited-values-text"], "public.rtf": ["public.text"],
        "com.apple.rtfd": ["com.apple.package", "public.composite-content"],
        "com.adobe.pdf": ["public.data", "public.composite-content"],
        "public.image": ["public.data", "public.content"],
        "public.png": ["public.image"], "public.jpeg": ["public.image"], "com.compuserve.gif": ["public.image"],
        "public.heif-standard": ["public.image"], "public.heic": ["public.heif-standard"],
        "public.tiff": ["public.image"], "public.svg-image": ["public.image"], "org.webmproject.webp": ["public.image"],
        "public.audiovisual-content": ["public.data", "public.content"],
        "public.audio": ["public.audiovisual-content"], "public.movie": ["public.audiovisual-content"],
        "public.mp3": ["public.audio"], "public.mpeg-4-audio": ["public.audio"],
        "com.microsoft.waveform-audio": ["public.audio"], "org.xiph.flac": ["public.audio"],
        "public.mpeg-4": ["public.movie"], "com.apple.quicktime-movie": ["public.movie"],
        "org.matroska.mkv": ["public.movie"], "public.zip-archive": ["public.data", "public.archive"],
        "org.gnu.gnu-zip-archive": ["public.data", "public.archive"],
        "public.tar-archive": ["public.data", "public.archive"], "public.source-code": ["public.plain-text"],
        "public.script": ["public.source-code"], "public.c-source": ["public.source-code"],
        "public.c-header": ["public.source-code"], "public.c-plus-plus-source": ["public.source-code"],
        "public.swift-source": ["public.source-code"], "public.python-script": ["public.script"],
        "public.shell-script": ["public.script"], "com.netscape.javascript-source": ["public.source-code"],
        "com.apple.property-list": ["public.data"], "org.openxmlformats.openxml": ["public.data"],
        "org.openxmlformats.wordprocessingml.document": ["org.openxmlformats.openxml", "public.composite-content"],
        "org.openxmlformats.spreadsheetml.sheet": ["org.openxmlformats.openxml", "public.spreadsheet"],
        "org.openxmlformats.presentationml.presentation": ["org.openxmlformats.openxml", "public.presentation"],
        "public.spreadsheet": ["public.content"], "public.presentation": ["public.composite-content"],
        "org.idpf.epub-container": ["public.data", "public.composite-content"], "public.font": ["public.data"],
        "public.truetype-ttf-font": ["public.font"],
    ]
}
