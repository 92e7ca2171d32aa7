import PageStyle

/// What the page on the admin port is made of.
enum WorkerPageFiles {
    static let all: [PageFile] = [
        PageFile(path: "/page", type: "text/html; charset=utf-8", text: WorkerPageHTML.text),
        PageFile(path: "/page/style.css", type: "text/css; charset=utf-8", text: PageCSS.text),
        PageFile(path: "/page/elements.js", type: "text/javascript; charset=utf-8", text: ElementsScript.text),
        PageFile(path: "/page/worker.js", type: "text/javascript; charset=utf-8", text: WorkerPageScript.text),
    ]
}
