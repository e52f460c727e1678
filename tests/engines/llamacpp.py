"""llama.cpp's own server, from the wheel `xllamacpp`: `python llamacpp.py FILE.gguf PORT`. Runs until it is ended.

The package's folder is not on this interpreter's path: the file imports nothing of it.
"""

import signal
import sys

import xllamacpp


def main(file: str, port: str) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = file
    params.port = int(port)
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 8192, 1, 2
    params.warmup, params.use_jinja, params.verbosity = False, False, 0
    # A prompt that is read from the cache gives other numbers than one that is computed, and so another text.
    params.cache_prompt = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
