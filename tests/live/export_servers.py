# SPDX-License-Identifier: MIT
"""Servers that keep profiles, as far as exporters see them: they take what those of Pyroscope and
Parca, and OpenTelemetry's collectors take, by the same rules, and remember each profile. They can be
away, slow, busy or strict, and break off at any moment of a request (faults)."""
import base64
import collections
import gzip
import hashlib
import http.server
import json
import os
import socket
import struct
import sys
import threading
import time

from pprof_file import fields, numbers

PYROSCOPE, PARCA = "/push.v1.PusherService/Push", "/api/profiles/writeraw"
OTLP = "/v1development/profiles"
PART_MAX, SAMPLES_MAX, LABELS_MAX, VALUE_MAX = 2 << 20, 16000, 30, 2048


class Refused(Exception):
    def __init__(self, status, text, **headers):
        super().__init__(text)
        self.status, self.text = status, text
        self.headers = {k.replace("_", "-"): v for k, v in headers.items()}


class Stored:
    """A profile with its series' labels: its sums, by type, by function at the leaf."""

    def __init__(self, labels, packed):
        self.labels = labels
        data = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
        self.size = len(data)
        parts = list(fields(data))
        texts = [v.decode("utf-8") for k, v in parts if k == 6]
        self.texts = texts
        self.time_ns = next((v for k, v in parts if k == 9), 0)
        self.duration_ns = next((v for k, v in parts if k == 10), 0)
        self.types = [tuple(texts[dict(fields(v)).get(i, 0)] for i in (1, 2)) for k, v in parts if k == 1]
        functions = {}
        for k, v in parts:
            if k == 5:
                f = dict(fields(v))
                functions[f[1]] = texts[f.get(2, 0)]
        self.unnamed, leaf_of = 0, {}
        for k, v in parts:
            if k == 4:
                location = list(fields(v))
                lines = [dict(fields(line)) for n, line in location if n == 4]
                names = [functions.get(line.get(1)) for line in lines]
                self.unnamed += not names or not all(names)
                leaf_of[next(x for n, x in location if n == 1)] = names[0] if names else ""
        self.ids = [[next(x for n, x in fields(v) if n == 1) for k, v in parts if k == number]
                    for number in (3, 4, 5)]
        self.sums, self.by_leaf, self.n, self.keys = [0] * len(self.types), {}, 0, set()
        for k, v in parts:
            if k != 2:
                continue
            sample = list(fields(v))
            values = [x for n, part in sample if n == 2 for x in numbers(part)]
            stack = [x for n, part in sample if n == 1 for x in numbers(part)]
            self.n += 1
            self.sums = [a + b for a, b in zip(self.sums, values)]
            leaf = leaf_of[stack[0]] if stack else ""
            self.by_leaf[leaf] = self.by_leaf.get(leaf, 0) + values[0]
            self.keys |= {texts[dict(fields(part))[1]] for n, part in sample if n == 3}

    def key(self):
        return self.labels.get("service_name") or self.labels.get("service"), self.time_ns


def check_pyroscope(headers, body, now):
    if headers["Content-Type"] != "application/proto":
        raise Refused(415, "unsupported content type")
    if headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    found = []
    for k, series in fields(body):
        if k != 1:
            raise Refused(400, "unknown field")
        labels = {}
        for n, v in fields(series):
            if n == 1:
                pair = dict(fields(v))
                labels[pair[1].decode()] = pair.get(2, b"").decode()
        if "__name__" not in labels:
            raise Refused(400, "profile series without a name")
        for n, v in fields(series):
            if n == 2:
                found.append(Stored(labels, dict(fields(v))[1]))
    for profile in found:
        if profile.size > 4 << 20 or profile.n > SAMPLES_MAX:
            raise Refused(400, "the profile is too large")
        if profile.size > PART_MAX:
            raise Refused(429, "ingestion rate limit exceeded")
        if len(profile.labels) + len(profile.keys) > LABELS_MAX:
            raise Refused(400, "too many labels")
        if any(len(v) > VALUE_MAX for v in profile.labels.values()):
            raise Refused(400, "a label value is too long")
        if profile.time_ns < (now - 3600) * 1e9:
            raise Refused(400, "profile with labels is outside of ingestion window: too old")
        if profile.unnamed:
            raise Refused(400, "there are frames without a name")  # they would vanish there
    return found


def check_parca(headers, body, _now):
    if headers["Content-Type"] != "application/json" or headers.get("Content-Encoding"):
        raise Refused(415, "unsupported content type")
    found = []
    for series in json.loads(body)["series"]:
        labels = {pair["name"]: pair["value"] for pair in series["labels"]["labels"]}
        for sample in series["samples"]:
            found.append(Stored(labels, base64.b64decode(sample.get("raw_profile") or sample["rawProfile"])))
    for profile in found:
        if "__name__" not in profile.labels:
            raise Refused(400, "a series without a name")
        if any(ids != list(range(1, len(ids) + 1)) for ids in profile.ids) or profile.texts[:1] != [""]:
            raise Refused(500, "ids are not in order")
    return found


class StoredOtlp:
    """A profile of a message: its sums."""

    def __init__(self, service, profile):
        self.labels, self.time_ns = {"service_name": service}, profile.time_unix_nano
        self.sums = [sum(sum(s.values) for s in profile.samples)]

    key = Stored.key


def check_otlp(headers, body, _now):
    # Its packages are from PyPI, for those that need them.
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
    import otlp_rules
    if headers["Content-Type"] != "application/x-protobuf" or headers["Content-Encoding"] != "gzip":
        raise Refused(415, "unsupported content type")
    request = otlp_rules.parse(gzip.decompress(body))
    found = list(otlp_rules.problems(request))
    if found:
        raise Refused(400, f"it does not keep the rules: {found[0]}")
    return [StoredOtlp(otlp_rules.service_of(resource), profile)
            for resource, profile in otlp_rules.profiles_of(request)]


# --- faults ------------------------------------------------------------------------------------------

# When a request meets one: it is connected, has sent its header, all of it, is stored; what happens
# then: called with the handler, returns whether that is the end. It may raise Refused.
Fault = collections.namedtuple("Fault", "stage act")


def reset(handler):
    """The connection is gone, without a word."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(handler.connection.detach())
    return True


def read_half_and_reset(handler):
    handler.rfile.read(int(handler.headers["Content-Length"]) // 2)
    return reset(handler)


def answer_half_a_header(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
    return True


def answer_half_a_body(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    return True


def refusal(status, text, **headers):
    def refuse(_):
        raise Refused(status, text, **headers)
    return Fault("read", refuse)


class Hold:
    """Keeps requests until they are released; then they end, or go on, though nobody waits for them
    any more."""

    def __init__(self, stage, ends=True):
        self.released = threading.Event()
        self.fault, self.ends = Fault(stage, self.hold), ends

    def hold(self, handler):
        handler.is_told = False
        handler.set_busy(False)
        self.released.wait(300)
        handler.set_busy(True)
        return self.ends


def metrics(gateway):
    """{(metric, target): value} of exports."""
    status, _, body = gateway.ask("/metrics")
    found = {}
    for line in body.decode().splitlines() if status == 200 else ():
        if line.startswith("profd_export_"):
            key, _, value = line.rpartition(" ")
            name, _, target = key.partition("{target=")
            found[name[len("profd_export_"):], target.strip('"}')] = float(value)
    return found


class Server:
    """@behave: called for each request, and may raise Refused, or return True to hang up. @poison: the
    service whose profiles it fails over. @fault: what requests meet, or None; n_met of them did. @tls: an
    SSLContext, or None. @burst: the bytes that it takes, unpacked, until its clock is set (time_offset);
    what is too much for that is refused, n_limited times."""

    def __init__(self, path, secret="", tls=None):
        self.stored, self.refused, self.n_requests = [], [], 0
        self.behave, self.time_offset, self.poison = lambda: None, 0, None
        self.burst, self.n_limited, self.spent = None, 0, (0, 0)
        self.fault, self.n_met, self.n_busy, self.n_open, self.tls = None, 0, 0, 0, tls
        check = {PYROSCOPE: check_pyroscope, PARCA: check_parca, OTLP: check_otlp}[path]
        outer, lock = self, threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or a body waits for the header to be acknowledged
            is_told = True  # the client may learn what became of its request
            is_busy = True  # it was counted when its connection was accepted

            def set_busy(self, is_busy):
                with lock:
                    outer.n_busy += is_busy - self.is_busy
                self.is_busy = is_busy

            def handle_one_request(self):
                try:
                    if outer.meets("connected", self):
                        self.close_connection = True
                    else:
                        super().handle_one_request()
                finally:
                    self.set_busy(False)

            def do_POST(self):
                self.set_busy(True)
                self.is_told = True
                try:
                    if outer.meets("header", self):
                        self.close_connection = True
                        return
                    body = self.rfile.read(int(self.headers["Content-Length"]))
                    with lock:
                        outer.n_requests += 1
                        if outer.behave():
                            self.close_connection = True
                            return
                    if outer.meets("read", self):
                        self.close_connection = True
                        return
                    with lock:
                        self.store(body)
                    answer = Refused(200, "{}" if path != OTLP else "")
                except Refused as e:
                    answer = e
                    outer.refused.append((e.status, e.text))
                except Exception as e:  # what a client sent
                    answer = Refused(400, repr(e))
                    outer.refused.append((400, repr(e)))
                if answer.status == 200 and outer.meets("stored", self):
                    self.close_connection = True
                    return
                self.answer(answer)

            def store(self, body):
                if self.path != path:
                    raise Refused(404, "not found")
                if secret and self.headers.get("Authorization") != f"Bearer {secret}":
                    raise Refused(401, "no credentials")
                profiles = check(self.headers, body, time.time() + outer.time_offset)
                if any(profile.key()[0] == outer.poison for profile in profiles):
                    raise Refused(500, "out of luck")
                if outer.burst:
                    outer.limit(sum(profile.size for profile in profiles))
                is_told = self.is_told and not (outer.fault and outer.fault.stage == "stored")
                for profile in profiles:
                    profile.digest, profile.is_told = hashlib.sha256(body).digest(), is_told
                outer.stored += profiles

            def answer(self, answer):
                self.send_response(answer.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer.text)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.text.encode())

            def log_message(self, *_):
                pass

        class Http(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 64

            def get_request(self):
                connection, address = super().get_request()
                with lock:
                    outer.n_busy += 1
                    outer.n_open += 1
                if outer.tls:
                    connection = outer.tls.wrap_socket(connection, server_side=True,
                                                       do_handshake_on_connect=False)
                return connection, address

            def shutdown_request(self, request):
                super().shutdown_request(request)
                with lock:
                    outer.n_open -= 1

            def handle_error(self, *_):
                pass  # a client that hangs up, or refuses the certificate

        Http.outer = self  # of handlers, their server's
        self.handler, self.http_class, self.port, self.http = Handler, Http, 0, None
        self.start()

    def limit(self, size):
        """A rate, of a clock that is moved by hand."""
        at, n = self.spent
        n = size + (n if at == self.time_offset else 0)
        if n > self.burst:
            self.n_limited += 1
            raise Refused(429, "ingestion rate limit exceeded")
        self.spent = self.time_offset, n

    def meets(self, stage, handler):
        fault = self.fault
        if not fault or fault.stage != stage:
            return False
        self.n_met += 1
        return fault.act(handler)

    def start(self):
        self.http = self.http_class(("127.0.0.1", self.port), self.handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, args=(.05,), daemon=True).start()

    def stop(self):
        if self.http:
            self.http.shutdown()
            self.http.server_close()
        self.http = None

    def url(self):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    def sums(self):
        """{(service, time): (sums, requests)}: of each window, what all its parts are together."""
        found = {}
        for profile in list(self.stored):
            sums, n = found.get(profile.key(), ([0] * len(profile.sums), 0))
            found[profile.key()] = ([a + b for a, b in zip(sums, profile.sums)], n + 1)
        return found
