"""An OpenAI-compatible server on this machine: llama.cpp's own, from the package xllamacpp, with any GGUF model.

    python benchmarks/llama_server.py models-cache/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf --port 18765

It prints its address when it is ready, and runs until it is interrupted or its standard input is closed.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress


def main() -> None:
    """Serve."""
    import xllamacpp

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    settings = xllamacpp.CommonParams()
    settings.model.path = arguments.model
    settings.hostnames, settings.port = ["127.0.0.1"], arguments.port
    settings.n_ctx, settings.n_parallel = 4096, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = arguments.threads
    settings.warmup = settings.ui = False
    settings.verbosity = 0
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    with suppress(KeyboardInterrupt):
        sys.stdin.read()
    del server


if __name__ == "__main__":
    main()
