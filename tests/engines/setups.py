"""What the matrix runs in: an engine with Backchat's plug-in, or an engine with `backchat serve` in front of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from . import weights
from .model import Model
from .running import free_port, running

HERE = Path(__file__).parent
#: Nothing is downloaded, nothing reported, and a small machine is enough.
ALONE = {
    "HF_HUB_OFFLINE": "1",
    "NO_PROXY": "127.0.0.1",
    "OMP_NUM_THREADS": "2",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_TARGET_DEVICE": "cpu",
}
VLLM_OPTIONS = [
    "--served-model-name",
    "tiny",
    "--max-model-len",
    "4096",
    "--dtype",
    "float32",
    "--enforce-eager",
    "--max-num-seqs",
    "8",
]
PLUG_IN_OPTIONS = ["--reasoning-parser", "backchat", "--tool-call-parser", "backchat", "--enable-auto-tool-choice"]


@dataclass(frozen=True)
class Setup:
    """An engine, and where Backchat is."""

    #: The environment below the folder of the environments.
    engine: str
    #: Whether Backchat runs inside the engine.
    plug_in: bool
    #: The engine's name for `--engine`.
    serves: str
    #: Whether the engine takes grammars.
    guarantees: bool = True
    options: Sequence[str] = field(default=())

    @property
    def name(self) -> str:
        """The name on the command line."""
        return f"{self.engine}-{'plugin' if self.plug_in else 'serve'}"

    def python(self, environments: Path) -> Path:
        """The interpreter that has the engine."""
        return environments / self.engine / "bin" / "python"

    def engine_command(self, environments: Path, model: Model, folder: Path, port: int) -> list[str | Path]:
        """Write the model, and return the command that serves it."""
        python = self.python(environments)
        if self.engine == "llamacpp":
            file = weights.gguf_file(model, folder / f"{model.name}.gguf")
            return [python, HERE / "llamacpp.py", file, str(port)]
        written = weights.folder(model, folder / model.name)
        where = ["--host", "127.0.0.1", "--port", str(port)]
        if self.engine == "vllm":
            return [python.parent / "vllm", "serve", written, *where, *VLLM_OPTIONS, *self.options]
        return [python.parent / "transformers", "serve", written, *where, *self.options]

    @contextmanager
    def started(self, environments: Path, binary: Path, model: Model, folder: Path) -> Iterator[int]:
        """The port of a chat server on the engine, which both run during the block."""
        port, log = free_port(), folder / f"{self.name}-{model.name}.log"
        with ExitStack() as stack:
            command = self.engine_command(environments, model, folder, port)
            health = f"http://127.0.0.1:{port}/health"
            stack.enter_context(running(command, health, log, environment=ALONE))
            if self.plug_in:
                yield port
                return
            front = free_port()
            serve: list[str | Path] = [binary, "serve", folder / f"{model.name}.jinja", "--engine", self.serves]
            serve += ["--upstream", f"http://127.0.0.1:{port}", "--port", str(front)]
            serve += ["--record", log.with_suffix(".jsonl")]
            (folder / f"{model.name}.jinja").write_text(model.chat_template, encoding="utf-8")
            health = f"http://127.0.0.1:{front}/health"
            stack.enter_context(running(serve, health, log.with_suffix(".serve.log"), environment=ALONE))
            yield front


SETUPS = {
    setup.name: setup
    for setup in (
        Setup("vllm", plug_in=True, serves="vllm", options=PLUG_IN_OPTIONS),
        Setup("vllm", plug_in=False, serves="vllm"),
        Setup("llamacpp", plug_in=False, serves="llama.cpp"),
        Setup("transformers", plug_in=False, serves="openai", guarantees=False),
    )
}
