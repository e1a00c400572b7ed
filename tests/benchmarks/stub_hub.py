"""A stand-in for the Hugging Face hub: the few requests that huggingface_hub makes for data sets, and for files of models, over real HTTP.

Info, file lists in pages, files with ETag and ranges (small ones as git blobs, large ones by redirect to LFS), making a
repository, asking how to upload, and committing.
"""

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 4  # entries a page, so that every listing has several


class Request(NamedTuple):
    method: str
    path: str
    token: str | None
    range: str | None


class Repo:
    """One data set or model: its files now, and its commits."""

    def __init__(self, private: bool = False) -> None:
        self.private = private
        self.files: dict[str, bytes] = {}
        self.licence: str | None = None
        self.listed_extra: list[str] = []
        """Names that are listed but stored nowhere."""
        self.refuses: tuple[int, str] | None = None
        """Status and error code of every answer about it, when it is not given out."""
        self.pretends: str | None = None
        """What it calls its commit, if not by its hash."""

    @property
    def commit(self) -> str:
        if self.pretends is not None:
            return self.pretends
        body = b"".join(name.encode() + content for name, content in sorted(self.files.items()))
        return hashlib.sha1(body).hexdigest()


class StubHub:
    """A hub on this machine; what it should do wrong is set on it before it is asked."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.requests: list[Request] = []
        self.large = 20_000
        """Bytes from which a file goes by LFS."""
        self.token: str | None = None
        """What a private repository, or a push, asks for."""
        self.cut: dict[str, int] = {}
        """File to the number of bytes after which its connection breaks, once."""
        self.spoilt: set[str] = set()
        """Files sent with other bytes than listed."""
        self.held = threading.Event()
        self.hold: str | None = None
        """A file whose bytes are not sent before `held` is set."""
        self.blobs: dict[str, bytes] = {}
        self.yaml: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.store = f"http://localhost:{self._server.server_address[1]}"
        """Where large files are, which is another host, as far as a client can tell."""

    def __enter__(self) -> "StubHub":
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.held.set()
        self._server.shutdown()
        self._server.server_close()

    def fetched(self) -> list[str]:
        """Names of the files whose bytes were asked for, in order."""
        names = []
        for request in self.requests:
            if request.method == "GET" and "/resolve/" in request.path:
                names.append(unquote(request.path.split("/resolve/")[1].partition("/")[2]))
            elif request.method == "GET" and request.path.startswith("/lfs/"):
                names.append(unquote(request.path.split("?name=")[1]))
        return names


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\x00" % len(content) + content).hexdigest()


def _handler(hub: StubHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def _note(self) -> str:
            hub.requests.append(Request(self.command, self.path, self._token(), self.headers.get("range")))
            return unquote(urlsplit(self.path).path)

        def _json(self, body: object, status: int = 200, **headers: str) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("content-length") or 0))

        def _token(self) -> str | None:
            header = self.headers.get("authorization")
            return header.removeprefix("Bearer ") if header else None

        def _repo(self, name: str, revision: str | None) -> Repo | None:
            repo = hub.repos.get(name)
            if repo is None or (repo.private and self._token() != hub.token):
                self._json({"error": "Repository not found"}, 404, X_Error_Code="RepoNotFound")
                return None
            if repo.refuses is not None:
                self._json({"error": "no"}, repo.refuses[0], X_Error_Code=repo.refuses[1])
                return None
            if revision not in (None, "main", repo.commit):
                self._json({"error": "Invalid rev id"}, 404, X_Error_Code="RevisionNotFound")
                return None
            return repo

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self._note()
            if found := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/revision/(.+))?", path):
                if (repo := self._repo(found[1], found[2])) is not None:
                    card = {"license": repo.licence} if repo.licence else {}
                    self._json(
                        {"id": found[1], "sha": repo.commit, "private": repo.private, "cardData": card}
                    )
            elif found := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/(.+)", path):
                if (repo := self._repo(found[1], found[2])) is not None:
                    self._tree(repo)
            elif found := re.fullmatch(r"(?:/datasets)?/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
                if (repo := self._repo(found[1], found[2])) is not None:
                    self._file(repo, found[3])
            elif found := re.fullmatch(r"/lfs/([0-9a-f]{64})", path):
                name = parse_qs(urlsplit(self.path).query)["name"][0]
                self._bytes(name, hub.blobs[found[1]], {"ETag": f'"{found[1]}"'})
            else:
                self._json({"error": "not found"}, 404)

        def _tree(self, repo: Repo) -> None:
            entries: list[dict[str, Any]] = [
                {"type": "file", "path": name, **_listed(content)}
                for name, content in sorted(repo.files.items())
            ]
            entries += [{"type": "file", "path": name, **_listed(b"x")} for name in repo.listed_extra]
            entries += [
                {"type": "directory", "path": name.rpartition("/")[0], "oid": "0" * 40}
                for name in repo.files
                if "/" in name
            ]
            split = urlsplit(self.path)
            start = int(parse_qs(split.query).get("cursor", ["0"])[0])
            more = {}
            if start + PAGE < len(entries):
                more["Link"] = f'<{hub.url}{split.path}?recursive=True&cursor={start + PAGE}>; rel="next"'
            self._json(entries[start : start + PAGE], 200, **more)

        def _file(self, repo: Repo, name: str) -> None:
            content = repo.files.get(name)
            if content is None:
                self._json({"error": "Entry not found"}, 404, X_Error_Code="EntryNotFound")
                return
            if len(content) < hub.large:
                self._bytes(name, content, {"ETag": f'"{_blob(content)}"', "X-Repo-Commit": repo.commit})
                return
            oid = hashlib.sha256(content).hexdigest()
            hub.blobs[oid] = content
            self.send_response(302)
            self.send_header("Location", f"{hub.store}/lfs/{oid}?name={name}")
            self.send_header("X-Linked-Etag", f'"{oid}"')
            self.send_header("X-Linked-Size", str(len(content)))
            self.send_header("X-Repo-Commit", repo.commit)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _bytes(self, name: str, content: bytes, headers: dict[str, str]) -> None:
            if name in hub.spoilt:
                content = bytes([content[0] ^ 1]) + content[1:]
            whole, start = len(content), 0
            if wanted := self.headers.get("range"):
                start = int(wanted.removeprefix("bytes=").partition("-")[0])
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
            self.send_header("Content-Length", str(whole - start))
            for key, value in headers.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            if name == hub.hold:
                self.wfile.flush()
                hub.held.wait()
            if (cut := hub.cut.pop(name, None)) is not None:
                self.wfile.write(content[start : start + cut])
                self.close_connection = True
                return
            self.wfile.write(content[start:])

        def do_PUT(self) -> None:
            path = self._note()
            oid = path.removeprefix("/lfs/")
            body = self._body()
            ok = hashlib.sha256(body).hexdigest() == oid
            if ok:
                hub.blobs[oid] = body
            self._json({}, 200 if ok else 422)

        def do_POST(self) -> None:
            path = self._note()
            body = self._body()
            if hub.token is not None and self._token() != hub.token:
                self._json({"error": "Invalid credentials"}, 403)
            elif path == "/api/repos/create":
                self._create(json.loads(body))
            elif path == "/api/validate-yaml":
                hub.yaml.append(json.loads(body)["content"])
                self._json({"errors": [], "warnings": []})
            elif found := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/preupload/main", path):
                files = [
                    {
                        "path": file["path"],
                        "uploadMode": "lfs" if file["size"] >= hub.large else "regular",
                        "shouldIgnore": False,
                    }
                    for file in json.loads(body)["files"]
                ]
                self._json({"files": files})
            elif found := re.fullmatch(r"/datasets/([^/]+/[^/]+)\.git/info/lfs/objects/batch", path):
                objects = [
                    {
                        "oid": entry["oid"],
                        "size": entry["size"],
                        "actions": {"upload": {"href": f"{hub.store}/lfs/{entry['oid']}"}},
                    }
                    for entry in json.loads(body)["objects"]
                ]
                self._json({"transfer": "basic", "objects": objects})
            elif found := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/commit/main", path):
                self._commit(found[1], [json.loads(line) for line in body.splitlines()])
            else:
                self._json({"error": "not found"}, 404)

        def _create(self, asked: dict[str, Any]) -> None:
            name = f"{asked['organization']}/{asked['name']}"
            made = {"url": f"{hub.url}/datasets/{name}"}
            if name in hub.repos:
                self._json(made, 409)
                return
            repo = hub.repos[name] = Repo(
                private=asked.get("visibility") == "private" or asked.get("private") is True
            )
            repo.files[".gitattributes"] = b"*.parquet filter=lfs\n"
            self._json(made)

        def _commit(self, name: str, lines: list[dict[str, Any]]) -> None:
            repo = hub.repos[name]
            for line in lines[1:]:
                value = line["value"]
                if line["key"] == "file":
                    repo.files[value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "lfsFile":
                    repo.files[value["path"]] = hub.blobs[value["oid"]]
                else:
                    assert line["key"] == "deletedFile"
                    del repo.files[value["path"]]
            if found := re.search(rb"^license: (.+)$", repo.files.get("README.md", b""), re.MULTILINE):
                repo.licence = found[1].decode()
            self._json(
                {"commitUrl": f"{hub.url}/datasets/{name}/commit/{repo.commit}", "commitOid": repo.commit}
            )

    def _listed(content: bytes) -> dict[str, Any]:
        if len(content) < hub.large:
            return {"size": len(content), "oid": _blob(content)}
        oid = hashlib.sha256(content).hexdigest()
        return {
            "size": len(content),
            "oid": "1" * 40,
            "lfs": {"oid": oid, "size": len(content), "pointerSize": 130},
        }

    return Handler
