import PageStyle

/// A file of the page on the admin port. They are texts in the program, so that it needs nothing beside it.
struct WorkerPageFile: Sendable {
    /// Where it is served.
    let path: String
    /// Its media type.
    let type: String
    let text: String

    static let all: [WorkerPageFile] = [
        WorkerPageFile(path: "/page", type: "text/html; charset=utf-8", text: WorkerPageHTML.text),
        WorkerPageFile(path: "/page/style.css", type: "text/css; charset=utf-8", text: PageCSS.text),
        WorkerPageFile(path: "/page/elements.js", type: "text/javascript; charset=utf-8", text: ElementsScript.text),
        WorkerPageFile(path: "/page/worker.js", type: "text/javascript; charset=utf-8", text: WorkerPageScript.text),
    ]

    /// Everything the page loads comes from itself.
    static let contentSecurityPolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"
}
