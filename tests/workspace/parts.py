"""Small archives, wheels and a package index for the tests."""

import hashlib
import io
import tarfile
import threading
import zipfile
from datetime import date
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from dlbench.dataset.records import Project

FILES = {
    "PKG-INFO": "Metadata-Version: 2.1\nName: tiny-net\nVersion: 1.0\n",
    "tiny_net/__init__.py": "def double(x):\n    return 2 * x\n",
    "tests/test_double.py": "from tiny_net import double\n\ndef test_double():\n    assert double(2) == 4\n",
    "tests/__pycache__/old.cpython-311.pyc": "stale",
    "build/lib/tiny_net/__init__.py": "stale = True\n",
}


def make_sdist(path: Path, files: dict[str, str] = FILES, top: str = "tiny_net-1.0/") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as file:
        for name, text in files.items():
            member = tarfile.TarInfo(top + name)
            member.size = len(text.encode())
            file.addfile(member, io.BytesIO(text.encode()))
    return sha256(path)


def make_wheel(folder: Path, name: str = "tiny_dep", version: str = "1.0", tag: str = "py3-none-any") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-{tag}.whl"
    info = f"{name}-{version}.dist-info"
    texts = {
        f"{name}/__init__.py": f"version = {version!r}\n",
        f"{name}-{version}.data/scripts/{name}.py": "#!python\nprint('a script')\n",
        f"{name}-{version}.data/purelib/{name}_more/__init__.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-tool = {name}:main\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(f"{path},,\n" for path in [*texts, f"{info}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as file:
        for path, text in (texts | {f"{info}/RECORD": record}).items():
            file.writestr(path, text)
    return wheel


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_project(**fields: Any) -> Project:  # noqa: ANN401  (whatever a record may hold)
    facts: dict[str, Any] = {
        "name": "tiny-net",
        "version": "1.0",
        "released": date(2026, 1, 1),
        "license": "MIT",
        "environment": "tiny",
        "framework": "numpy",
    }
    return Project.model_validate(facts | fields)


class Index:
    """A simple index (PEP 503) over HTTP: `files/` holds the archives, the pages link to them relatively."""

    def __init__(self, folder: Path) -> None:
        self.files = folder / "files"
        self.files.mkdir(parents=True)
        self.folder = folder
        self.requests: list[str] = []
        self.fail_first = 0
        self.content_type = ""  # Of the pages, if not that of their files.
        self.cut: list[str] = []  # Beginnings of paths whose next answer breaks off halfway.
        index = self

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                index.requests.append(f"{self.headers.get('Authorization', '')} {self.path}".strip())
                if index.fail_first:
                    index.fail_first -= 1
                    self.send_error(503)
                elif cut := [begin for begin in index.cut if self.path.startswith(begin)]:
                    index.cut.remove(cut[0])
                    self.send_response(200)
                    self.send_header("Content-Type", "text/html")
                    self.send_header("Content-Length", "1000")
                    self.end_headers()
                    self.wfile.write(b"only this")
                else:
                    super().do_GET()

            def guess_type(self, path: str) -> str:  # type: ignore[override]
                is_page = str(path).endswith(".html")
                return index.content_type if is_page and index.content_type else super().guess_type(path)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/simple"

    @property
    def file_url(self) -> str:
        return (self.folder / "simple").as_uri()

    def list(self, project: str = "tiny-net", files: str = "../../files") -> None:
        """Write the project's page with all files in `files/`."""
        page = self.folder / "simple" / project / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        links = [f'<a href="{files}/{path.name}">{path.name}</a><br>' for path in self.files.iterdir()]
        page.write_text("<!DOCTYPE html><html><body>" + "\n".join(links) + "</body></html>")

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def __enter__(self) -> "Index":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
