"""What the bot is told beside its prompt: looked up for each question, made afresh for each run."""

SHELVES = {"Sencha, 100 g": (8.20, 12), "Gyokuro, 50 g": (24.50, 0), "Rooibos, 100 g": (6.50, 40)}


class Stock:
    name = "stock"
    required = True
    cap = 100

    async def __call__(self, tokens_left):
        return "\n".join(f"{tea}: {price:.2f} €, {bags} in stock" for tea, (price, bags) in SHELVES.items())


def pytest_convo_context_sources():
    return [Stock()]
