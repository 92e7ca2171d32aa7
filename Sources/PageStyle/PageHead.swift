/// What every page begins with.
package enum PageHead {
    /// Up to the style sheets: the head is still open.
    /// - Parameter title: without markup.
    package static func text(title: String) -> String {
        #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\#(title)</title>
        <link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cpath d='M4 20h24l-4 7H8zM15 4v14H6zM17 8l8 10h-8z' fill='%230b57c2'/%3E%3C/svg%3E">
        """#
    }
}
