"""One chat completion from an OpenAI-compatible endpoint, or why there is none; the only module of the question verbs that
imports the `openai` client."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from harness.errors import Fault, HarnessError

if TYPE_CHECKING:
    import openai

KEY = "OPENAI_API_KEY"
NO_KEY = "none"  # the client wants one; servers of one's own do not look at it
SECRET = re.compile(r"\bsk-[\w-]{6,}")
TOKENS = ("prompt_tokens", "completion_tokens")
CUT_OFF, FILTERED = "length", "content_filter"
COMPATIBLE = "many servers want /v1 at the end of --endpoint"


class Failure(Exception):
    """An answer that can't be had. `final`: nor can any other from this endpoint; `unreached`: it may not be there at all."""

    def __init__(self, what: str, fix: str, final: bool = False, unreached: bool = False) -> None:
        super().__init__(what)
        self.what, self.fix, self.final, self.unreached = what, fix, final, unreached


@dataclass(frozen=True)
class Said:
    """What a model answered, whether it was cut off, and its tokens where the endpoint counts them."""

    text: str
    cut_off: bool
    tokens: dict[str, int]

    @property
    def counted(self) -> bool:
        return len(self.tokens) == len(TOKENS)


@dataclass(frozen=True)
class Endpoint:
    """Where to ask and whom; seconds for one request, and how often the client tries again. The key is the environment's."""

    url: str
    model: str
    timeout: float = 300.0
    retries: int = 4
    key: str = field(default_factory=lambda: os.environ.get(KEY, "").strip(), repr=False)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            right = False
        if not right:
            fix = "give the address before /chat/completions, such as http://localhost:8000/v1"
            raise HarnessError(Fault("--endpoint", f"'{self.without_secrets(self.url)}' is no http address", fix))
        if not all("!" <= c <= "~" for c in self.key):
            raise HarnessError(Fault(KEY, "it has characters that no key has", "export the key alone"))

    def without_secrets(self, text: str) -> str:
        """A text for a message, without the key and without what stands before the `@` of an address."""
        text = text.replace(self.key, "***") if self.key else text
        return SECRET.sub("***", re.sub(r"//[^/@\s]*@", "//***@", " ".join(text.split())))

    @cached_property
    def client(self) -> openai.OpenAI:
        """Raises HarnessError when the openai package is not installed."""
        try:
            import openai
        except ImportError:
            fix = "pip install 'chunking-harness[openai]'"
            raise HarnessError(Fault("generate", "the openai package is not installed", fix)) from None
        return openai.OpenAI(base_url=self.url, api_key=self.key or NO_KEY, timeout=self.timeout, max_retries=self.retries)

    def ask(self, messages: Sequence[dict[str, str]]) -> Said:
        """The model's answer. Raises Failure, also when it refuses."""
        import openai

        try:
            create: Any = self.client.chat.completions.with_raw_response.create
            reply = _Reply.model_validate_json(create(model=self.model, messages=list(messages)).http_response.content)
        except openai.OpenAIError as error:
            raise self._failure(error) from error
        except ValidationError as error:
            e = error.errors()[0]
            place = "".join(f"{part}: " for part in e["loc"][:1])
            what = f"what the endpoint sent is no chat completion ({place}{e['msg'][0].lower()}{e['msg'][1:]})"
            raise Failure(what, f"check that it is OpenAI-compatible; {COMPATIBLE}") from error
        if not reply.choices:
            raise Failure("the endpoint sent an answer without a choice", "run the same again, or ask another model")
        choice = reply.choices[0]
        if choice.message.refusal or choice.finish_reason == FILTERED:
            reason = self.without_secrets(choice.message.refusal or "a filter stopped the answer")
            raise Failure(f"the model refused: {reason}", "ask another model, or write these questions by hand")
        counts = {k: n for k in TOKENS if isinstance(n := (reply.usage or {}).get(k), int)}
        return Said(choice.message.text, choice.finish_reason == CUT_OFF, counts)

    def _failure(self, error: openai.OpenAIError) -> Failure:
        """Why the client gave up, in words, without secrets."""
        import openai

        tries = f"after {self.retries + 1} tries" if self.retries else "at the first try"
        if isinstance(error, openai.APITimeoutError):
            what = f"no answer within {self.timeout:g} s, {tries}"
            return Failure(what, "raise --timeout, or ask for less at a time (--number, --most-characters)")
        if isinstance(error, openai.APIConnectionError):
            what = self.without_secrets(f"{self.url} can't be reached, {tries} ({_cause(error)})")
            return Failure(what, "check --endpoint, and that the server runs", unreached=True)
        if isinstance(error, openai.APIStatusError):
            what, fix, final = self._refusal(error.status_code)
            what = what.replace("TRIES", tries)
            return Failure(self.without_secrets(f"{what} ({error.status_code}: {error.message[:300]})"), fix, final)
        return Failure(self.without_secrets(str(error)), "check --endpoint and --model")

    def _refusal(self, status: int) -> tuple[str, str, bool]:
        """What an HTTP status means, what to do, and whether it means the same for every other question."""
        refusals = {
            401: ("the endpoint refuses the key", f"export another {KEY}" if self.key else f"export {KEY}", True),
            404: ("the endpoint knows no such model or address", f"check --model; {COMPATIBLE}", True),
            429: ("the endpoint's rate limit holds, TRIES", "wait, lower --concurrency or raise --retries", False),
        }
        failing = ("the endpoint fails, TRIES", "look at the server's log; run the same again later", False)
        other = ("the endpoint refuses the request", "if it is too long, shorten it with --most-characters", False)
        return refusals.get(401 if status == 403 else status, failing if status >= 500 else other)


class _Message(BaseModel):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        """What the model wrote; some servers send it in parts."""
        parts = self.content if isinstance(self.content, list) else [{"text": self.content or ""}]
        return "".join(str(p.get("text") or "") for p in parts)


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Reply(BaseModel):
    choices: list[_Choice]
    usage: dict[str, Any] | None = None


def _cause(error: BaseException) -> str:
    """The first reason below the client's own, which says only that there was one."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__
