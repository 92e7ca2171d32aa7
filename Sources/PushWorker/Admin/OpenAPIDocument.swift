/// The content of `GET /openapi.json`: every route of the admin port, for programs. It is `admin.openapi.json` beside
/// this file, embedded in the program, so that no file has to be found at run time.
public enum OpenAPIDocument {
    /// The document in JSON, OpenAPI 3.1.
    public static let text = String(decoding: PackageResources.admin_openapi_json, as: UTF8.self)
}
