/// What `GET /openapi.json` answers: every route of the admin port, for programs. It is `admin.openapi.json` beside this file, embedded in the
/// program: no file has to be found at run time.
public enum OpenAPIDocument {
    /// JSON, OpenAPI 3.1.
    public static let text = String(decoding: PackageResources.admin_openapi_json, as: UTF8.self)
}
