import ControlAPI
import Foundation
import Model
import Testing

@Suite struct ControlFaultTests {
    @Test(arguments: FileError.Code.allCases)
    func `an error round-trips through JSON`(code: FileError.Code) throws {
        let fault = ControlFault(FileError(code, "a \"sentence\""))
        let decoded = try ControlJSON.decode(ControlFault.self, from: try ControlJSON.encode(fault))
        #expect(decoded == fault)
        #expect(decoded.fileError.code == code)
        #expect(decoded.fileError.detail == "a \"sentence\"")
        #expect(400...599 ~= fault.httpStatus)
    }

    @Test func `an error's JSON has the documented keys`() throws {
        let text = String(decoding: try ControlJSON.encode(ControlFault(FileError(.busy, "open"))), as: UTF8.self)
        #expect(text == #"{"code":"busy","errno":16,"message":"open"}"#)
    }
}
