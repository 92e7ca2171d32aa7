import PageStyle

/// The files of the page on the admin port.
enum WorkerPageFiles {
    static let all: [PageFile] = [
        PageFile(path: "/page", type: .html, bytes: PackageResources.worker_html),
        .style(at: "/page/style.css"), .elements(at: "/page/elements.js"),
        PageFile(path: "/page/worker.js", type: .script, bytes: PackageResources.worker_js),
    ]
}
