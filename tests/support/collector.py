# SPDX-License-Identifier: MIT
"""An OpenTelemetry collector: of the project's own modules alone, in a fixed version, built by its
builder. It receives over OTLP, prints what it got (debug exporter), and sends it on. Kept as pinned.py
keeps tools; from empty caches that takes two minutes."""
import functools
import hashlib
import os
import tempfile

import pinned

VERSION = "0.165.0"
MODULE = "go.opentelemetry.io/collector"
BUILDER = f"""
dist: {{name: otelcol, output_path: %s, version: {VERSION}}}
receivers: [{{gomod: {MODULE}/receiver/otlpreceiver v{VERSION}}}]
exporters:
  - gomod: {MODULE}/exporter/debugexporter v{VERSION}
  - gomod: {MODULE}/exporter/otlphttpexporter v{VERSION}
"""
CONFIG = """
receivers: {otlp: {protocols: {http: {endpoint: "%s"}}}}
exporters:
  debug: {verbosity: detailed}
  otlp_http: {endpoint: "http://%s"}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [debug, otlp_http]}}
"""


def build(go, program):
    with tempfile.TemporaryDirectory(dir=pinned.CACHE) as work:
        env = pinned.go_environment(GOPATH=work, GOBIN=work, GOCACHE=os.path.join(work, "cache"),
                                    PATH=os.path.dirname(go) + ":" + pinned.PATH)
        config, made = os.path.join(work, "builder.yaml"), os.path.join(work, "made")
        with open(config, "w", encoding="ascii") as f:
            f.write(BUILDER % made)
        pinned.must(go, "install", f"{MODULE}/cmd/builder@v{VERSION}", env=env)
        pinned.must(os.path.join(work, "builder"), "--config", config, env=env)
        os.rename(os.path.join(made, "otelcol"), program)


@functools.cache
def collector():
    """The program's path."""
    of = hashlib.sha256(BUILDER.encode()).hexdigest()[:16]
    program = os.path.join(pinned.CACHE, f"otelcol-{VERSION}-{of}")
    go = pinned.go()
    with pinned.lock("lock-otelcol"):
        if not os.path.exists(program):
            build(go, program)
    return program


def command(config, address, next_one):
    """What runs it, at an address, before the next one; @config: a file that is written for it."""
    with open(config, "w", encoding="ascii") as f:
        f.write(CONFIG % (address, next_one))
    return [collector(), "--config", config, "--feature-gates=service.profilesSupport"]
