"""tidemark serve and record --live: who is answered over HTTP, with what, and that nobody can hold it up."""

import concurrent.futures
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pagedata
import pytest
from serving import Server, serving

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="the page is bundled by Node.js")

CODE = """
kept = []
for i in range(60):
    part = [bytes(1000 + j % 7) for j in range(50)]
    kept.append(bytes(5000))
"""


@pytest.fixture(scope="module")
def trace(tidemark, tmp_path_factory):
    path = tmp_path_factory.mktemp("serve") / "t.tide"
    subprocess.run([tidemark, "record", "-q", "--exact", "-o", path, "--", "/usr/bin/python3", "-c", CODE], check=True,
                   timeout=120)
    return path


@pytest.fixture(scope="module")
def server(tidemark, trace):
    with serving(tidemark, trace) as one:
        yield one


def test_the_address_has_the_page_with_a_policy_that_lets_it_ask_there_alone(server):
    answer = server.ask()
    page = answer.body.decode()
    policy = answer.headers["Content-Security-Policy"]
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert policy.startswith("default-src 'none'; connect-src 'self'; script-src 'sha256-")
    assert policy.endswith("frame-ancestors 'none'") and "unsafe" not in policy
    assert policy.removesuffix("; frame-ancestors 'none'") in page
    assert 'id="tide-a" data-ask="data?run=0"></script>' in page and 'id="tide-b"' not in page
    for name, value in {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
                        "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
                        "X-Frame-Options": "DENY"}.items():
        assert answer.headers[name] == value
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_its_data_is_that_of_the_page_that_is_written(server, run, trace, tmp_path):
    out = tmp_path / "page.html"
    assert run("report", trace, "-f", "html", "-o", out).returncode == 0
    answer = server.ask("data?run=0")
    assert answer.status == 200 and answer.body == pagedata.data_in(out.read_text())
    assert answer.headers["Tidemark-Live"] == "0" and answer.headers["Content-Security-Policy"].startswith("default-src 'none';")


def test_a_stretch_is_told_finer_and_agrees_with_the_rest(server):
    coarse = pagedata.Page(server.ask("data?run=0").body)
    last = coarse.meta["duration"]
    fine = pagedata.Page(server.ask(f"data?run=0&from={last // 3}&to={last // 2}").body)
    assert fine.meta["stretch"] == {"from": last // 3, "to": last // 2}
    inside = [t for t in pagedata.sums(fine.meta["grid"]["t"]) if last // 3 <= t <= last // 2]
    before = [t for t in pagedata.sums(coarse.meta["grid"]["t"]) if last // 3 <= t <= last // 2]
    assert len(inside) > 2 * len(before)
    assert sum(e.size for e in fine.entries) == sum(e.size for e in coarse.entries)
    assert max(fine.meta["grid"]["heap"]) == max(coarse.meta["grid"]["heap"])


def test_the_head_alone_has_no_body(server):
    answer = server.ask(method="HEAD")
    assert answer.status == 200 and answer.body == b"" and int(answer.headers["Content-Length"]) > 50_000
    assert server.ask("data", method="HEAD").status == 200


@pytest.mark.parametrize("path", ["/", "", "/data", "/favicon.ico", "/{wrong}/", "/{wrong}/data", "/{token}", "/{TOKEN}/",
                                  "//{token}/", "/{half}/", "/x/../{token}/", "/?{token}"])
def test_without_the_key_nothing_is_answered(server, path):
    wrong = server.token[:-1] + ("0" if server.token[-1] != "0" else "1")
    token = server.token if path != "/{TOKEN}/" else server.token.upper()
    path = path.replace("{TOKEN}", token).format(wrong=wrong, token=token, half=server.token[:16])
    if path == f"/{server.token}":
        assert server.ask(path=path).status == 404
    elif path == f"/{server.token}/":
        pytest.skip("this key has no letters")
    else:
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            assert server.ask(path=path or "/", method=method).status == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil", "127.0.0.2",
                                  "127.0.0.1:", "127.0.0.1:80x", "[::2]", "user@127.0.0.1"])
def test_another_name_that_leads_here_is_refused(server, host):
    answer = server.ask(Host=host.format(port=server.port))
    assert answer.status == 403 and answer.body == b"This page is only for 127.0.0.1 and localhost."


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost:8000", "[::1]:9"])
def test_the_port_may_be_another_one_as_through_ssh(server, host):
    assert server.ask(Host=host).status == 200


def test_nothing_but_the_page_and_its_data_is_there(server, trace):
    for what in ("x", "data/", "../", "%2e%2e/", f"..{trace}", "index.html", "data%00", "/", f"/{server.token}/"):
        assert server.ask(what).status == 404, what
    for what in ("data?run=1", "data?run=99999999999", "data?from=5&to=5", "data?from=9&to=3"):
        assert server.ask(what).status == 404, what


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get"])
def test_only_get_and_head_are_answered(server, method):
    answer = server.ask(method=method)
    assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("data, status", [
    (b"GET {p} HTTP/1.1\r\n\r\n", 400),  # without a Host
    (b"GET {p} HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
    (b"GET {p} HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", 400),
    (b"GET {p} HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
    (b"GET {p} HTTP/1.1\nHost: localhost\n\r\n\r\n", 400),
    (b"GET  {p} HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET http://localhost{p} HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET {p} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", 400),
    (b"GET {p} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"GET {p} HTTP/1.1\r\nHost: local\0host\r\n\r\n", 400),
    (b"GET {p}\0 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),  # TLS
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    (b"GET {p} HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
    (b"GET {p} HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 9000 + b"\r\n\r\n", 431),
    (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
    (b"GET {p} HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\n\r\n", 200),  # what follows is not looked at
    (b"GET {p} HTTP/1.0\r\nhOsT:\tlocalhost \r\n\r\n", 200),
])
def test_what_is_no_request_is_refused_by_its_status(server, data, status):
    line = server.say(data.replace(b"{p}", f"/{server.token}/".encode()))
    assert line.startswith(f"HTTP/1.1 {status} "), line


def test_a_request_may_come_byte_by_byte(server):
    with server.connect() as link:
        for byte in f"GET /{server.token}/ HTTP/1.1\r\nHost: localhost\r\n\r\n".encode():
            link.sendall(bytes([byte]))
        assert link.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"


def test_many_who_say_nothing_or_take_nothing_hold_nobody_up(server):
    silent = [server.connect() for _ in range(100)]
    for link in silent[:50]:
        link.sendall(f"GET /{server.token}/ HTT".encode())
    greedy = []
    for _ in range(20):
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.connect(("127.0.0.1", server.port))
        link.sendall(f"GET /{server.token}/ HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        greedy.append(link)
    for _ in range(5):
        assert server.ask().status == 200
        assert server.ask("data").status == 200
    for link in silent + greedy:
        link.close()
    assert server.ask().status == 200


def test_who_goes_away_while_data_is_made_leaves_the_others_theirs(server):
    last = pagedata.Page(server.ask("data").body).meta["duration"]
    for i in range(8):
        with server.connect() as link:
            link.sendall(f"GET /{server.token}/data?from={i}&to={last // 2} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(server.ask, [f"data?from={10 * (i % 3)}&to={last // 2}" for i in range(12)]))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 3


def test_ctrl_c_and_sigterm_end_it_with_0_and_nothing_is_left(tidemark, trace):
    for number in (signal.SIGINT, signal.SIGTERM):
        with serving(tidemark, trace) as one:
            assert one.ask("data").status == 200
            with one.connect():
                one.process.send_signal(number)
                assert one.process.wait(timeout=120) == 0
            assert one.process.stderr.read() == ""
            with pytest.raises(ConnectionRefusedError):
                one.connect()


def test_another_user_than_root_can_serve_what_it_may_read(tidemark, trace, tmp_path):
    if os.geteuid():
        pytest.skip("only root can become another user")
    own = tmp_path / "t.tide"
    shutil.copy(trace, own)
    own.chmod(0o600)
    for path in [tmp_path, *tmp_path.parents][:-2]:
        if path.stat().st_uid == 0 and not path.stat().st_mode & 0o005:
            path.chmod(path.stat().st_mode | 0o055)
    user = {"user": 65534, "group": 65534, "extra_groups": []}
    done = subprocess.run([tidemark, "serve", own], capture_output=True, text=True, timeout=60, check=False, **user)
    assert done.returncode == 1 and done.stderr == f"tidemark: cannot open '{own}': Permission denied\n"
    os.chown(own, 65534, 65534)
    with serving(tidemark, own, **user) as one:
        answer = one.ask("data")
        assert answer.status == 200, answer.read()


def test_what_cannot_be_served_is_said_in_one_sentence(run, trace, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--port", str(port), trace)
        assert done.returncode == 1
        assert done.stderr == f"tidemark: port {port} is in use; give another one, or leave out --port\n"
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("no trace\n" * 100)
    for path in ("none", "empty", "text"):
        done = run("serve", tmp_path / path)
        assert done.returncode == 1 and done.stdout == "" and re.fullmatch(r"tidemark: .*\n", done.stderr), path
    for words in ([], ["--port", "99999", trace], ["--port", "x", trace], [trace, trace, trace]):
        done = run("serve", *words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, words


def test_a_port_can_be_chosen(tidemark, trace):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(tidemark, "--port", str(port), trace) as one:
        assert one.port == port and one.ask().status == 200


def test_a_trace_that_goes_or_changes_meanwhile_is_told_as_it_is(tidemark, trace, tmp_path):
    path = tmp_path / "t.tide"
    shutil.copy(trace, path)
    with serving(tidemark, path) as one:
        whole = one.ask("data").body
        path.rename(tmp_path / "gone")
        answer = one.ask("data")
        assert answer.status == 500 and answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.body.decode() == f"cannot open '{path}': No such file or directory"
        path.write_bytes(trace.read_bytes()[: trace.stat().st_size // 2])
        cut = one.ask("data")
        assert cut.status == 200 and pagedata.Page(cut.body).meta["health"]
        path.write_bytes(b"not a trace any more")
        assert one.ask("data").status == 500
        shutil.copy(trace, path)
        assert one.ask("data").body == whole


def test_two_traces_are_compared(tidemark, trace, tmp_path):
    other = tmp_path / "other.tide"
    subprocess.run([tidemark, "record", "-q", "--exact", "-o", other, "true"], check=True, timeout=60)
    with serving(tidemark, trace, other) as one:
        page = one.ask().body.decode()
        assert 'data-ask="data?run=0"' in page and 'data-ask="data?run=1"' in page
        names = [pagedata.Page(one.ask(f"data?run={i}").body).meta["trace"] for i in (0, 1)]
        assert names == ["t.tide", "other.tide"] and one.ask("data?run=2").status == 404


# A recording that goes on


def start_live(tidemark, trace, *words):
    """A recording that is watched, of a command; and its server."""
    process = subprocess.Popen([tidemark, "record", "--live", "--exact", "-o", trace, "--", *words], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline()
    if "when tidemark was built" in line:
        pytest.skip(line.strip())
    assert line.startswith("tidemark: the recording can be watched at http://")
    return process, Server(process, line)


GROWING = """
import sys
kept = []
print("ready", flush=True)
for line in sys.stdin:
    kept.append(bytes(int(line)))
    print("done", flush=True)
sys.exit(3)
"""


def newer(server, version, **more):
    """-> the next data, its version, and whether the recording goes on"""
    query = "".join(f"&{name}={value}" for name, value in more.items())
    answer = server.ask(f"data?run=0&newer={version}{query}")
    assert answer.status == 200, answer.body
    return pagedata.Page(answer.body), int(answer.headers["Tidemark-Version"]), answer.headers["Tidemark-Live"] == "1"


def peak(page):
    return max(page.meta["grid"]["heap"])


def test_a_page_grows_with_the_recording_and_gets_its_end(tidemark, run, tmp_path):
    trace = tmp_path / "live.tide"
    process, server = start_live(tidemark, trace, "/usr/bin/python3", "-c", GROWING)
    with process:
        assert process.stdout.readline() == "ready\n"
        assert b"data-ask" in server.ask().body
        page, version, live = newer(server, 0)
        assert live and peak(page) < 40_000_000
        process.stdin.write("40000000\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        while peak(page) < 40_000_000:  # each answer is newer than the last
            before = version
            page, version, live = newer(server, version)
            assert live and version > before
        duration = page.meta["duration"]
        fine, version, live = newer(server, 0, **{"from": duration // 2, "to": duration})
        assert live and fine.meta["stretch"]["to"] == duration
        with concurrent.futures.ThreadPoolExecutor(2) as pool:  # who waits for more gets the last
            waiting = [pool.submit(newer, server, 10**6), pool.submit(newer, server, 10**6)]
            process.stdin.close()
            last = [one.result(timeout=120) for one in waiting]
        assert process.wait(timeout=120) == 3
    assert [live for _, _, live in last] == [False, False]
    told = json.loads(run("report", trace, "peak", "-f", "json").stdout)
    assert peak(last[0][0]) == told["tables"]["facts"]["values"]["peak_heap"]
    assert last[0][0].meta["outcome"] and last[0][0].sections["FRMS"] == last[1][0].sections["FRMS"]
    with pytest.raises(ConnectionRefusedError):
        server.connect()


def test_a_recording_is_the_same_with_and_without_a_page(tidemark, run, tmp_path):
    facts = []
    for words in ([], ["--live"]):
        trace = tmp_path / f"t{len(facts)}.tide"
        done = run("record", *words, "--exact", "-o", trace, "--", "expr", "1", "+", "1")
        assert done.returncode == 0 and done.stdout == "2\n"
        told = json.loads(run("report", trace, "processes", "-f", "json").stdout)
        rows = told["tables"]["processes"]["rows"]
        page = tmp_path / "page.html"
        assert run("report", trace, "-f", "html", "-o", page).returncode == 0
        data = pagedata.Page(page.read_text())
        facts.append((len(rows), [row["name"] for row in rows], sum(e.size for e in data.entries),
                      sum(e.count for e in data.entries), len({e.leaf for e in data.entries}),
                      data.meta["events"]))  # leaves of CPU samples come as they come
    assert facts[0] == facts[1]


def test_a_port_without_a_page_and_one_that_is_taken_are_said_before_anything_runs(run, tmp_path):
    ran = tmp_path / "ran"
    done = run("record", "--port", "8000", "-o", tmp_path / "t.tide", "touch", ran)
    assert done.returncode == 2 and "--port is for --live" in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("record", "--live", "--port", str(taken.getsockname()[1]), "-o", tmp_path / "t.tide", "touch", ran)
        assert done.returncode == 125 and "is in use" in done.stderr
    assert not ran.exists() and not (tmp_path / "t.tide").exists()


def test_a_recorder_that_is_killed_leaves_no_server(tidemark, tmp_path):
    process, server = start_live(tidemark, tmp_path / "t.tide", "/usr/bin/python3", "-c", GROWING)
    with process:
        assert process.stdout.readline() == "ready\n"
        assert newer(server, 0)[2]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(newer, server, 10**6)
            process.kill()
            assert waiting.result(timeout=120)[2] is False  # what there was, as the last
        process.stdin.close()
        process.wait(timeout=120)
    with pytest.raises((ConnectionRefusedError, ConnectionResetError)):
        for _ in range(1000):  # it goes when nobody has asked for a while
            server.connect().close()
            time.sleep(0.1)
