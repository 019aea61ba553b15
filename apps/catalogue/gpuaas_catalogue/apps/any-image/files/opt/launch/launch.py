"""Serves one page, if the app was launched without an image of the project."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = b"This is the image of the app itself. Launch it with an image that your project has published.\n"


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)


ThreadingHTTPServer(("0.0.0.0", 8080), Page).serve_forever()
