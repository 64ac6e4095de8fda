"""What a user's own script would be: an AsyncOpenAI client, a semaphore, and a loop over the questions."""

from __future__ import annotations

import argparse
import asyncio

from openai import AsyncOpenAI


async def ask_all(base_url: str, questions: int, times: int, at_once: int) -> None:
    free = asyncio.Semaphore(at_once)

    async def ask(number: int) -> None:
        async with free:
            reply = await client.chat.completions.create(
                model="mock", messages=[{"role": "user", "content": f"Question {number}: yes or no?"}]
            )
        if reply.choices[0].message.content != "yes":
            msg = f"unexpected answer: {reply}"
            raise ValueError(msg)

    async with AsyncOpenAI(base_url=base_url, api_key="none") as client:
        await asyncio.gather(*(ask(number) for number in range(questions) for _ in range(times)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Ask a server without any test framework.")
    parser.add_argument("base_url")
    parser.add_argument("--questions", type=int, default=1)
    parser.add_argument("--times", type=int, default=1, help="how often each question is asked")
    parser.add_argument("--at-once", type=int, default=20)
    given = parser.parse_args()
    asyncio.run(ask_all(given.base_url, given.questions, given.times, given.at_once))
