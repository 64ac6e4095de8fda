"""What an answer costs: by a price of the settings, else by a kept list of prices, else nobody knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from ..conversation.reply import Reply, Usage

MILLION = 1_000_000


class Tariff(Protocol):
    """Says what tokens cost."""

    def cost(self, usage: Usage) -> float:
        """US dollars for the tokens of one request."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens: of the prompt, of the completion, and of the prompt as far as it was cached.

    `cached` None is as dear as `input`.
    """

    input: float
    output: float
    cached: float | None = None

    def cost(self, usage: Usage) -> float:
        """US dollars for these tokens; those that were cached are part of the prompt."""
        known = min(usage.cached_tokens, usage.prompt_tokens)
        cached = self.input if self.cached is None else self.cached
        new = usage.prompt_tokens - known
        return (new * self.input + known * cached + usage.completion_tokens * self.output) / MILLION


FREE = Price(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ListPrice:
    """The price of `model` at the server `url` in the list of genai-prices, which knows of tiers and dates."""

    model: str
    url: str

    def cost(self, usage: Usage) -> float:
        """US dollars for the tokens of one request, at this time."""
        import genai_prices

        counted = genai_prices.Usage(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            cache_read_tokens=min(usage.cached_tokens, usage.prompt_tokens),
        )
        return float(genai_prices.calc_price(counted, self.model, provider_api_url=self.url).total_price)


@lru_cache(maxsize=256)
def list_price(model: str, url: str, *, embeds: bool = False) -> ListPrice | None:
    """The price of a model, by its name and the address of its server; None where the list has none.

    One that only `embeds` gives no answer, and needs no price of one. The first call imports the list: 25 to 45 ms
    where the SDK is imported already, 70 to 130 ms where it is not.
    """
    import genai_prices

    nothing = genai_prices.Usage(input_tokens=0, output_tokens=0)
    try:
        found = genai_prices.calc_price(nothing, model, provider_api_url=url)
    except LookupError:
        return None
    prices = found.model_price
    # The list has models without a price of theirs, and counts them as free.
    unpriced = prices.input_mtok is None or (prices.output_mtok is None and not embeds)
    return None if unpriced else ListPrice(model, url)


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one bot: `own`, whatever the model, else those of the list for the server at `url`.

    `embeds` is for one that makes vectors of texts, and says nothing.
    """

    own: Price | None = None
    url: str | None = None
    embeds: bool = False

    def of(self, *models: str | None) -> Tariff | None:
        """The price of the first of these names that has one: as the server reports it, as it was asked for.

        None where it is not known, which is not the same as free.
        """
        if self.own is not None or self.url is None:
            return self.own
        found = (list_price(model, self.url, embeds=self.embeds) for model in models if model)
        return next((price for price in found if price is not None), None)


UNKNOWN = Prices()


def cost_of(reply: Reply, prices: Prices, asked: str | None = None) -> float | None:
    """What the accepted tokens of a reply cost, in US dollars; None where tokens or price are not known.

    The requests of a turn are taken as one, which matters only for prices that rise with the length of a prompt.
    """
    if reply.usage is None:
        return None
    price = prices.of(reply.model, asked)
    return None if price is None else price.cost(reply.usage)
