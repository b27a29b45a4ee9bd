"""A tidemark that serves the report page, and what it answers."""

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import urllib.parse

PATIENCE = 120


class Server:
    """One that answers at an address; `process` prints it."""

    def __init__(self, process, line):
        self.process = process
        found = re.search(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", line)
        assert found, line
        self.address, self.port, self.token = found[0], int(found[1]), found[2]

    def ask(self, what="", method="GET", path=None, **headers):
        """-> the answer, with its body as `body`"""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(link):
            link.putrequest(method, f"/{self.token}/{what}" if path is None else path, skip_host="Host" in headers,
                            skip_accept_encoding=True)
            for name, value in headers.items():
                link.putheader(name, value)
            link.endheaders()
            answer = link.getresponse()
            answer.body = answer.read()
        return answer

    def say(self, data):
        """-> the first line that is answered to bytes"""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as link:
            link.sendall(data)
            return link.makefile("rb").readline().decode().strip()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)


@contextlib.contextmanager
def serving(tidemark, *args, **kw):
    """A Server, which is ended by SIGTERM."""
    words = [tidemark, "serve", *map(os.fspath, args)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw) as process:
        try:
            line = process.stdout.readline()
            if not line and "when tidemark was built" in (said := process.stderr.read()):
                import pytest
                pytest.skip(said.strip())
            yield Server(process, line)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=PATIENCE)
            process.stdout.close()
            process.stderr.close()


def path_of(address):
    return urllib.parse.urlsplit(address).path
