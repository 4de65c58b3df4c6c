import Testing
import Ubiquity

@testable import Ubiquity

@Suite struct ContainerTests {
    @Test(arguments: [
        "iCloud.com.example.notes", "com.example.notes", "ABCDE12345.com.example.notes",
        "ABCDE12345.iCloud.com.example.notes",
    ])
    func `an identifier is known in all its spellings`(_ spelling: String) {
        #expect(ContainerName(spelling) == ContainerName("iCloud.com.example.notes"))
    }

    @Test(arguments: ["iCloud.com.example", "abcde12345.com.example.notes", "ABCDE1234.com.example.notes", ""])
    func `other identifiers are others`(_ other: String) {
        #expect(ContainerName(other) != ContainerName("iCloud.com.example.notes"))
    }

    @Test func `a container that the program does not declare is refused as such`() {
        let program = ProgramInfo(["NSUbiquitousContainers": ["iCloud.com.example.notes": [String: Any]()]])
        #expect(
            ProgramContainers.find("iCloud.com.example.other", for: program)
                == .failure(.notDeclared("iCloud.com.example.other")))
        #expect(
            ProgramContainers.find("com.example.notes", for: program) == .failure(.notMounted("com.example.notes")))
    }

    @Test(arguments: [("ANY", UbiquitousContainerInfo.FolderLevels.any), ("One", .one), ("none", .none), ("7", .none)])
    func `the settings of a container are read`(_ text: String, _ levels: UbiquitousContainerInfo.FolderLevels) {
        let program = ProgramInfo([
            "NSUbiquitousContainers": [
                "iCloud.x": [
                    "NSUbiquitousContainerIsDocumentScopePublic": true, "NSUbiquitousContainerName": "X",
                    "NSUbiquitousContainerSupportedFolderLevels": text,
                ]
            ]
        ])
        let info = program.containers?["iCloud.x"]
        #expect(info?.isDocumentScopePublic == true)
        #expect(info?.name == "X")
        #expect(info?.supportedFolderLevels == levels)
    }

    @Test func `a program without a list may use all containers`() { #expect(ProgramInfo([:]).containers == nil) }

    @Test func `package extensions come from exported, imported and document types`() {
        let program = ProgramInfo([
            "UTExportedTypeDeclarations": [
                [
                    "UTTypeConformsTo": ["public.data", "com.apple.package"],
                    "UTTypeTagSpecification": ["public.filename-extension": ["CSDoc"]],
                ],
                [
                    "UTTypeConformsTo": "public.text",
                    "UTTypeTagSpecification": ["public.filename-extension": "plain"],
                ],
            ],
            "UTImportedTypeDeclarations": [
                [
                    "UTTypeConformsTo": "com.apple.package",
                    "UTTypeTagSpecification": ["public.filename-extension": "other"],
                ]
            ],
            "CFBundleDocumentTypes": [
                ["LSTypeIsPackage": true, "CFBundleTypeExtensions": ["bundle2", "*"]],
                ["CFBundleTypeExtensions": ["flat"]],
            ],
        ])
        #expect(program.packageExtensions == ["csdoc", "other", "bundle2"])
    }
}
