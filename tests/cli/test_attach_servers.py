"""`tidemark attach` to servers that are at work: none of them may notice.

Each server is attached to and left again some times while clients ask it all the time; every answer is
checked, none may be missing. Then the recorder is killed, and the server goes on. The number of rounds is
TIDEMARK_ATTACH_ROUNDS (see docs/RELIABILITY.md for longer runs). With TIDEMARK_ATTACH_FILTER they filter their
system calls: `container` as in one, `deadly` so that some of what the library would like to call kills.
"""

import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

import filters
from running import PATIENCE, start, until
from test_attach import Target, attach, program, totals

FIXTURES = (start, attach, program, totals)
ROUNDS = int(os.environ.get("TIDEMARK_ATTACH_ROUNDS", "2"))
ASKED = 40  # answers that come before each next step


FILTERS = {"container": dict.fromkeys(filters.DOCKER, filters.REFUSE),
           "deadly": dict.fromkeys("process_vm_readv timer_create timer_settime timer_delete rt_sigpending "
                                   "munlock".split(), filters.KILL)}
FILTER = os.environ.get("TIDEMARK_ATTACH_FILTER")


@pytest.fixture
def target(start):
    """As that of test_attach, behind the filter"""

    def call(*command, **kw):
        if FILTER:
            kw["preexec_fn"] = filters.put_on(filters.ALLOW, FILTERS[FILTER])
        return Target(start(*command, tool=None, **kw))

    return call


def installed(*names):
    missing = [name for name in names if not shutil.which(name)]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Load:
    """Clients that ask all the time; ask() makes a connection and gives what asks once over it."""

    def __init__(self, connect, clients=3):
        self.connect, self.done, self.errors, self.over = connect, 0, [], False
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def work(self):
        try:
            ask = self.connect()
            while not self.over:
                ask()
                self.done += 1
        except Exception as e:  # whatever a client meets is what is tested for
            self.errors.append(repr(e))

    def more(self):
        """Wait for some more answers."""
        enough = self.done + ASKED
        until(lambda: self.errors or self.done >= enough, "answers of the server")
        assert not self.errors, self.errors

    def end(self):
        self.over = True
        for thread in self.threads:
            thread.join(PATIENCE)
        assert not self.errors, self.errors


def over_http(port, path="/", answer=b"hello"):
    def connect():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

        def ask():
            connection.request("GET", path)
            said = connection.getresponse()
            body = said.read()
            assert said.status == 200 and answer in body, (said.status, body[:100])
            if said.will_close:
                connection.close()
        return ask
    return connect


def over_socket(port, request, answer):
    def connect():
        s = socket.create_connection(("127.0.0.1", port), PATIENCE)

        def ask():
            s.sendall(request)
            got = b""
            while len(got) < len(answer):
                more = s.recv(65536)
                assert more, "the server has closed the connection"
                got += more
            assert got == answer, got[:100]
        return ask
    return connect


def answers(connect):
    def asked():
        try:
            connect()()
        except OSError:
            return False
        return True
    until(asked, "the server to answer")


def churn(pids, load, attach, run, allocates=True):
    """Attach, detach and attach again while it works; then the recorder is killed."""
    for i in range(ROUNDS):
        for pid in pids():
            tool = attach(pid, exact=i % 2 == 0)
            load.more()
            said = tool.detach()
            assert said["complete"] and said["losses"] == 0
            if i % 2 == 0 and allocates:
                assert said["allocs"] > 0
            load.more()
    for pid in pids():
        tool = attach(pid)
        load.more()
        tool.kill()
        tool.wait(PATIENCE)
        load.more()
        assert run("detach", str(pid)).returncode == 0
        load.more()
        assert attach(pid).detach()["complete"]
    load.more()


@pytest.fixture
def serve(target, attach, run):
    """serve(connect, *command) -> runs the whole; the server must then end as it is told to"""

    def call(connect, *command, pids=None, ends=(0, -signal.SIGTERM), allocates=True, **kw):
        kw.setdefault("stdout", subprocess.DEVNULL)
        kw.setdefault("stderr", subprocess.DEVNULL)
        server = target(*command, **kw)
        answers(connect)
        load = Load(connect)
        load.more()
        churn(pids or (lambda: [server.pid]), load, attach, run, allocates)
        load.end()
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE) in ends

    return call


def children(pid):
    return [int(word) for word in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


NODE = """
const http = require('http');
http.createServer((q, r) => {
  const b = Buffer.alloc(20000, 'x');
  r.end('hello ' + b.length + JSON.stringify(Array.from({length: 50}, (_, i) => i)));
}).listen(+process.argv[2], '127.0.0.1');
"""


@installed("node")
def test_node(serve, tmp_path):
    port = free_port()
    (tmp_path / "s.js").write_text(NODE)
    serve(over_http(port, answer=b"hello 20000"), "node", tmp_path / "s.js", str(port))


NGINX = """
daemon off; worker_processes 2; pid {0}/pid; error_log {0}/error;
events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path {0}/a; proxy_temp_path {0}/b; fastcgi_temp_path {0}/c;
  uwsgi_temp_path {0}/d; scgi_temp_path {0}/e; keepalive_requests 10000000;
  server {{ listen 127.0.0.1:{1}; location / {{ return 200 "hello"; }} }} }}
"""


@installed("nginx")
def test_the_workers_of_nginx(serve, tmp_path, target, attach, run):
    port = free_port()
    (tmp_path / "conf").write_text(NGINX.format(tmp_path, port))
    server = target("nginx", "-c", tmp_path / "conf", "-p", tmp_path, stderr=subprocess.DEVNULL)
    answers(over_http(port))
    load = Load(over_http(port))
    load.more()
    churn(lambda: children(server.pid), load, attach, run, allocates=False)
    load.end()
    assert len(children(server.pid)) == 2
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(PATIENCE) == 0


@installed("redis-server")
def test_redis(serve, tmp_path):
    port, value = free_port(), b"x" * 3000
    request = (b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3000\r\n" + value + b"\r\n"
               b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
    serve(over_socket(port, request, b"+OK\r\n$3000\r\n" + value + b"\r\n"), "redis-server", "--port",
          str(port), "--bind", "127.0.0.1", "--save", "", "--daemonize", "no", cwd=tmp_path)


@installed("memcached")
def test_memcached(serve, tmp_path):
    port, value = free_port(), b"y" * 500
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    serve(over_socket(port, b"set k 0 0 500\r\n" + value + b"\r\nget k\r\n",
                      b"STORED\r\nVALUE k 0 500\r\n" + value + b"\r\nEND\r\n"),
          "memcached", "-l", "127.0.0.1", "-p", str(port), *user, allocates=False)


JAVA = """
import com.sun.net.httpserver.*;
import java.net.*;
public class S {
  public static void main(String[] a) throws Exception {
    HttpServer s = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(a[0])), 0);
    s.setExecutor(java.util.concurrent.Executors.newFixedThreadPool(4));
    s.createContext("/", x -> {
      String text = null;
      try { text.length(); } catch (NullPointerException e) { text = "hello"; }  // by SIGSEGV
      byte[] b = (text + new int[2000].length).getBytes();
      x.sendResponseHeaders(200, b.length); x.getResponseBody().write(b); x.close(); });
    s.start();
  }
}
"""


@installed("java", "javac")
def test_java(serve, tmp_path):
    port = free_port()
    (tmp_path / "S.java").write_text(JAVA)
    subprocess.run(["javac", "-d", tmp_path, tmp_path / "S.java"], check=True, capture_output=True)
    serve(over_http(port), "java", "-Xmx128m", "-cp", tmp_path, "S", str(port),
          ends=(143, 0), allocates=False)


PYTHON = """
import http.server, json, sys
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = ("hello " + json.dumps(list(range(300)))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
"""


def test_the_threads_of_a_python_server(serve, tmp_path):
    port = free_port()
    (tmp_path / "s.py").write_text(PYTHON)
    serve(over_http(port), "/usr/bin/python3", tmp_path / "s.py", str(port))


GUNICORN = os.environ.get("TIDEMARK_GUNICORN") or shutil.which("gunicorn")


@pytest.mark.skipif(not GUNICORN, reason="gunicorn is not installed")
def test_the_workers_of_gunicorn(target, tmp_path, attach, run):
    port = free_port()
    (tmp_path / "app.py").write_text(
        "def app(environ, start):\n    start('200 OK', [('Content-Type', 'text/plain')])\n"
        "    return [b'hello ' + b'x' * 1000]\n")
    server = target(GUNICORN, "-w", "2", "-k", "gthread", "--threads", "2", "-b",
                    f"127.0.0.1:{port}", "app:app", cwd=tmp_path, stderr=subprocess.DEVNULL)
    answers(over_http(port))
    load = Load(over_http(port))
    load.more()
    workers = children(server.pid)
    churn(lambda: workers, load, attach, run, allocates=False)  # one of them may have no client
    load.end()
    assert children(server.pid) == workers
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(PATIENCE) == 0


RUST = """
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{BufRead, BufReader, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
struct Counting;
static COUNT: AtomicU64 = AtomicU64::new(0);
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 { COUNT.fetch_add(1, Relaxed); System.alloc(l) }
    unsafe fn dealloc(&self, p: *mut u8, l: Layout) { System.dealloc(p, l) }
    unsafe fn alloc_zeroed(&self, l: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed); System.alloc_zeroed(l) }
    unsafe fn realloc(&self, p: *mut u8, l: Layout, n: usize) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed); System.realloc(p, l, n) }
}
#[global_allocator]
static A: Counting = Counting;
fn main() {
    let port = std::env::args().nth(1).unwrap();
    let listener = std::net::TcpListener::bind(format!("127.0.0.1:{}", port)).unwrap();
    for stream in listener.incoming() {
        let mut out = stream.unwrap();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(out.try_clone().unwrap()).lines();
            while let Some(Ok(line)) = lines.next() {
                let text = if line == "count" { format!("{}\\n", COUNT.load(Relaxed)) } else {
                    let all: Vec<String> = (0..20).map(|i| format!("{}{}", line, i)).collect();
                    format!("hello {}\\n", all.len()) };
                if out.write_all(text.as_bytes()).is_err() { break; }
            }
        });
    }
}
"""


@pytest.fixture(scope="module")
def rust_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rust")
    (folder / "s.rs").write_text(RUST)
    subprocess.run(["rustc", "-O", "-o", folder / "s", folder / "s.rs"], check=True,
                   capture_output=True)
    return folder / "s"


@installed("rustc")
def test_rust(serve, rust_server):
    port = free_port()
    serve(over_socket(port, b"ask\n", b"hello 20\n"), rust_server, str(port))


@installed("rustc")
def test_what_rust_counts_itself_is_what_is_recorded(target, rust_server, attach):
    port = free_port()
    server = target(rust_server, str(port))
    answers(over_socket(port, b"ask\n", b"hello 20\n"))
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as s:
        f = s.makefile("rw")

        def ask(word):
            f.write(word + "\n")
            f.flush()
            return f.readline()

        ask("x")
        for _ in range(ROUNDS):
            tool = attach(server.pid)
            before = int(ask("count"))
            for _ in range(200):
                assert ask("ask") == "hello 20\n"
            after = int(ask("count"))
            said = tool.detach()
            # and besides: the line and the answer of each "count"
            assert after - before > 4000
            assert after - before <= said["allocs"] <= after - before + 8
            assert (said["losses"], said["complete"]) == (0, True)
    server.process.kill()
    server.process.wait(PATIENCE)


POSTGRES = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))


@pytest.mark.skipif(not POSTGRES or not shutil.which("pgbench") or os.geteuid() != 0,
                    reason="postgres with pgbench is not installed, or nobody can become its user")
def test_the_processes_of_postgres(start, target, attach, run, public):
    bin, folder, port = POSTGRES[-1].parent, public(), free_port()
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    data = folder / "data"
    os.chmod(folder, 0o777)

    def call(*words):
        subprocess.run([*user, *words], check=True, capture_output=True, cwd=folder)

    call(bin / "initdb", "-D", data, "-U", "t", "-A", "trust", "--no-sync")
    server = target(*user, bin / "postgres", "-D", data, "-p", str(port), "-k", folder, "-F",
                    "-c", "listen_addresses=", cwd=folder, stderr=subprocess.DEVNULL)
    at = ["-h", str(folder), "-p", str(port), "-U", "t"]
    until(lambda: subprocess.run([bin / "pg_isready", *at], capture_output=True).returncode == 0,
          "postgres")
    call(bin / "pgbench", *at, "-i", "-q", "postgres")
    bench = start(*user, bin / "pgbench", *at, "-c", "3", "-T", "600", "-P", "1", "postgres",
                  tool=None)

    def backends():
        found = []
        for pid in children(server.pid):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if "t postgres" in words:
                found.append(pid)
        return found

    until(lambda: len(backends()) == 3, "the backends of postgres")
    before = backends()
    for i in range(ROUNDS):
        for pid in [*before, server.pid]:
            tool = attach(pid, exact=i % 2 == 0)
            bench.err.find(rb"progress: [^\n]*tps[^\n]*\n")
            assert tool.detach()["complete"]
    tool = attach(before[0])
    tool.kill()
    tool.wait(PATIENCE)
    bench.err.find(rb"progress: [^\n]*tps[^\n]*\n")
    assert backends() == before and bench.poll() is None
    bench.send_signal(signal.SIGINT)
    bench.wait(PATIENCE)
    assert b"failed" not in bench.err.seen.replace(b"0 failed", b"")
    assert b"aborted" not in bench.err.seen and b"FATAL" not in bench.err.seen
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(PATIENCE) == 0


GO = """
package main
import ("net/http"; "os")
func main() {
  http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("hello")) })
  http.ListenAndServe("127.0.0.1:" + os.Args[1], nil)
}
"""


@installed("go")
def test_go_is_refused_in_a_sentence_and_serves_on(target, run, tmp_path):
    port = free_port()
    (tmp_path / "s.go").write_text(GO)
    subprocess.run(["go", "build", "-o", tmp_path / "s", tmp_path / "s.go"], check=True,
                   capture_output=True, cwd=tmp_path,
                   env={**os.environ, "CGO_ENABLED": "0", "GOCACHE": str(tmp_path / "cache"),
                        "GO111MODULE": "off"})
    server = target(tmp_path / "s", str(port))
    answers(over_http(port))
    load = Load(over_http(port))
    for _ in range(ROUNDS):
        done = run("attach", str(server.pid), cwd=tmp_path)
        assert done.returncode == 126 and "statically linked" in done.stderr
        assert re.fullmatch(r"tidemark: [^\n]+\n", done.stderr)
        load.more()
    load.end()
    server.process.kill()
    server.process.wait(PATIENCE)


def test_threads_that_allocate_load_fork_and_start_others(target, program, attach, run):
    storm = target(program("turmoil"), program("plugin.so"))

    def goes_on():
        first = list(map(int, storm.say("x", r"\d+ \d+ \d+ \d+ wrong 0\n").split()[:4]))

        def more():
            now = storm.say("x", r"\d+ \d+ \d+ \d+ wrong 0\n").split()[:4]
            return all(int(a) > b + 1 for a, b in zip(now, first))
        until(more, "all of its threads to go on")

    goes_on()
    for i in range(ROUNDS * 2):
        tool = attach(storm.pid, exact=i % 2 == 0)
        goes_on()
        assert tool.detach()["complete"]
        goes_on()
    tool = attach(storm.pid)
    tool.kill()
    tool.wait(PATIENCE)
    goes_on()
    assert run("detach", str(storm.pid)).returncode == 0
    goes_on()
    assert storm.end()[0] == 0
