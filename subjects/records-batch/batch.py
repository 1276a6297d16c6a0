"""Delivers records in batches, with a pause after each: `batch.py URL RECORDS PAUSE`."""

import sys
import time

import requests

BATCH = 1000


def send_batches(url, data, pause):
    stored = 0
    for start in range(0, len(data), BATCH):
        batch = data[start : start + BATCH]
        answer = requests.post(url, json=batch)
        answer.raise_for_status()
        stored += answer.json()["count"]
        if pause:
            time.sleep(pause)
    return stored


def main():
    url, count, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    data = [{"device": f"d-{i % 10000:04}", "value": 21.5} for i in range(count)]
    print("records", send_batches(url, data, pause))


main()
