"""The subjects python-fastapi, python-fastapi-workers and python-fastapi-gunicorn-nginx: constant
answers, 10 ms of waiting in three ways, and a published program's route."""

import asyncio
import time

from fastapi import FastAPI, Response

app = FastAPI(openapi_url=None)

TEXT = {"Content-Type": "text/plain"}
JSON = {"Content-Type": "application/json"}


@app.get("/")
async def hello() -> Response:
    return Response(b"Hello, World!", headers=TEXT)


@app.get("/json")
async def status() -> Response:
    return Response(b'{"status":"ok"}', headers=JSON)


@app.get("/data")
async def data():
    """As a published program has it: nothing is annotated, and the answer is a dictionary."""
    await asyncio.sleep(0.01)
    return {"status": "success"}


@app.get("/wait10")
async def wait10() -> Response:
    """Waits without holding anybody up."""
    await asyncio.sleep(0.01)
    return Response(b"waited\n", headers=TEXT)


@app.get("/wait10-sync")
def wait10_sync() -> Response:
    """Waits in a thread of the pool that FastAPI calls ordinary functions in."""
    time.sleep(0.01)
    return Response(b"waited\n", headers=TEXT)


@app.get("/wait10-blocking")
async def wait10_blocking() -> Response:
    """The mistake: holds up the event loop, and everybody else with it."""
    time.sleep(0.01)
    return Response(b"waited\n", headers=TEXT)
