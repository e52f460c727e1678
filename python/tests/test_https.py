"""serve asks an engine over https; its certificate is valid for localhost only."""

import json
import os
import ssl
import subprocess
import sys
import threading
import urllib.request
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from test_clients import ROOT, USER, Engine

TLS = Path(__file__).parent / "tls"


@pytest.fixture
def port():
    engine = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "localhost.pem", TLS / "localhost.key")
    # The handshake is for the thread of its connection: a client that refuses the certificate ends no server.
    engine.socket = context.wrap_socket(engine.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=engine.serve_forever, daemon=True).start()
    yield engine.server_port
    engine.shutdown()
    engine.server_close()


def serve(upstream):
    command = [sys.executable, "-m", "backchat", "serve", "-q", str(ROOT / "chat_templates/qwen3.jinja"), "--port", "0"]
    trusted = {**os.environ, "SSL_CERT_FILE": str(TLS / "localhost.pem")}
    return subprocess.Popen(
        [*command, "--upstream", upstream], env=trusted, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_an_engine_with_a_trusted_certificate_is_asked(port):
    with serve(f"https://localhost:{port}") as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            body = json.dumps({"messages": USER}).encode()
            request = urllib.request.Request(f"{address}/chat/completions", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=20) as answer:
                message = json.load(answer)["choices"][0]["message"]
        finally:
            server.kill()
    assert message["reasoning_content"] == "Look it up."


def test_a_certificate_of_another_name_is_refused(port):
    with serve(f"https://127.0.0.1:{port}") as server:
        try:
            _, errors = server.communicate(timeout=20)
        finally:
            server.kill()
    assert server.returncode == 2 and "certificate" in errors
